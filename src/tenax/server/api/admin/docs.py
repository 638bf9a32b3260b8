"""Serves the page that shows the API to people. All its files come from this server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import cache
from importlib.resources import files

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from tenax.errors import NotFound

ASSETS = {
    "swagger-ui.css": "text/css",
    "swagger-ui-bundle.js": "text/javascript",
    "page.css": "text/css",
    "page.js": "text/javascript",
}
"""Media types of the files of the page, by name."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The page may load nothing from other hosts, and scripts only from files of this server. Swagger UI needs inline styles."""
_KEPT = {"content-security-policy": POLICY, "cache-control": "max-age=3600"}
_PART = 64_000
"""Bytes written at once. A client that reads slowly or not at all keeps only this much of an answer in memory."""

router = APIRouter(include_in_schema=False)


@router.get("/docs")
async def page() -> Response:
    """Returns the page. The page asks for a token if `/openapi.json` needs one."""
    return Response(_content("index.html"), media_type="text/html", headers=_KEPT)


@router.get("/docs/{name}")
async def asset(request: Request, name: str) -> Response:
    """Returns a file of the page."""
    if name not in ASSETS:
        raise NotFound(
            f"there is no {request.method} {request.url.path} here", remedy="GET /docs is the page"
        )
    content = _content(name)
    headers = {**_KEPT, "content-length": str(len(content))}
    return StreamingResponse(_parts(content), media_type=ASSETS[name], headers=headers)


@cache
def _content(name: str) -> bytes:
    return files("tenax.server").joinpath("docs_page", name).read_bytes()


async def _parts(content: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(content), _PART):
        yield content[start : start + _PART]
