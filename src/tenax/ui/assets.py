"""Serves the scripts and styles of the dashboard. All come from this server, and browsers keep them for a year."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import PurePath

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from tenax.drawing.stylesheet import stylesheet
from tenax.errors import NotFound

PREFIX = "/assets/"
MEDIA_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
DRAWING = "drawing.css"
"""The style of drawings, which is kept with them."""
NAMES = (
    DRAWING,
    "ui.css",
    "ui.js",
    "theme.js",
    "charts.js",
    "icon.svg",
    "htmx.min.js",
    "hx-sse.min.js",
    "uplot.min.js",
    "uplot.min.css",
)
KEPT = "public, max-age=31536000, immutable"
"""The address has the hash of the content, so a new version has a new address."""

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Asset:
    content: bytes
    version: str
    media_type: str


@cache
def load_asset(name: str) -> Asset:
    content = _read(name)
    version = hashlib.sha256(content).hexdigest()[:12]
    return Asset(content, version, MEDIA_TYPES[PurePath(name).suffix])


def _read(name: str) -> bytes:
    if name == DRAWING:
        return stylesheet().encode()
    return files("tenax.ui").joinpath("static", name).read_bytes()


def asset_url(name: str) -> str:
    """Returns the address of an asset, with the hash of its content."""
    return f"{PREFIX}{name}?v={load_asset(name).version}"


@router.get(PREFIX + "{name}")
async def asset(request: Request, name: str, v: str = "") -> Response:
    """Returns an asset. An address with another hash is answered too, and is not kept."""
    if name not in NAMES:
        raise NotFound(f"there is no {request.url.path} here", remedy="reload the page")
    found = load_asset(name)
    kept = KEPT if v == found.version else "no-cache"
    return Response(found.content, media_type=found.media_type, headers={"cache-control": kept})
