"""Opens connections for a block, or for a test that is a coroutine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from tenax.store.connect import Connection, connect


@asynccontextmanager
async def connected(
    url: str, by: Callable[..., Awaitable[Connection]] = connect, **more: Any
) -> AsyncIterator[Connection]:
    connection = await by(url, **more)
    try:
        yield connection
    finally:
        await connection.close()
