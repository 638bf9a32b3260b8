"""Restarts the loops of a server when they fail."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

_log = structlog.get_logger("tenax.engine")


async def forever(loop: Callable[[], Awaitable[None]]) -> None:
    """Runs a loop for ever. A loop that fails is logged and starts again, since others depend on it."""
    while True:
        try:
            await loop()
        except Exception:  # noqa: BLE001 -- whatever the error, the server needs this loop
            _log.exception("a loop of the engine failed; it starts again", loop=loop.__qualname__)
            await asyncio.sleep(1)
