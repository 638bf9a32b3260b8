"""The body of a request, as the type that its endpoint wants (`bodies`)."""

from __future__ import annotations

from typing import TypeVar

from pydantic import TypeAdapter, ValidationError
from starlette.requests import ClientDisconnect, Request

from tenax.server.problems import InvalidRequest, UnsupportedBody
from tenax.server.services import engine

T = TypeVar("T")


async def read_body(request: Request, adapter: TypeAdapter[T], *, empty: bytes | None = None) -> T:
    """The body as its type. `empty` is what no body at all stands for, where that is allowed."""
    found, _ = await read_sized_body(request, adapter, empty=empty)
    return found


async def read_sized_body(
    request: Request, adapter: TypeAdapter[T], *, empty: bytes | None = None
) -> tuple[T, int]:
    """Reads a body as `read_body` does. Returns its size in bytes with it."""
    body = await _whole(request)
    if not body and empty is not None:
        return adapter.validate_json(empty), 0
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise UnsupportedBody(
            f"the body is {media_type or 'of no type'}, not application/json",
            remedy="send Content-Type: application/json",
        )
    await engine(request).context.reading.check_values(body)
    try:
        return adapter.validate_json(body, strict=True), len(body)
    except ValidationError as error:
        raise InvalidRequest.of_body(error) from None


async def _whole(request: Request) -> bytes:
    """All of the body. It mostly comes in one piece: the framework's own way goes through two generators for it."""
    parts: list[bytes] = []
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)
