"""Sends and receives messages between servers by NOTIFY and LISTEN."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg

from tenax.errors import Unreachable
from tenax.store.connect import Connection, Database
from tenax.store.connections.outages import GONE
from tenax.store.transaction import session

CHANNEL = "tenax_news"
PAUSE = 0.5
"""Seconds before the server tries to replace a lost connection."""


async def notify(database: Database, message: str) -> None:
    async with session(database, planned=False) as connection:
        await connection.execute("select pg_notify($1, $2)", CHANNEL, message)


async def listen(database: Database) -> AsyncIterator[str | None]:
    """Yields messages as they come. Yields None when a connection was made or replaced: messages may
    have been missed."""
    while True:
        messages: asyncio.Queue[str | None] = asyncio.Queue()
        try:
            connection = await _listening(database, messages)
        except (Unreachable, *GONE, asyncpg.PostgresError, asyncpg.InterfaceError):
            await asyncio.sleep(PAUSE)
            continue
        try:
            yield None
            while (message := await messages.get()) is not None:
                yield message
        finally:
            connection.terminate()
        await asyncio.sleep(PAUSE)


async def _listening(database: Database, messages: asyncio.Queue[str | None]) -> Connection:
    """Opens a connection that puts its messages into the queue, and None when it is lost."""

    def heard(_connection: Any, _pid: int, _channel: str, payload: str) -> None:
        messages.put_nowait(payload)

    connection = await database.connect()
    connection.add_termination_listener(lambda _connection: messages.put_nowait(None))
    try:
        await connection.add_listener(CHANNEL, heard)
    except BaseException:
        connection.terminate()
        raise
    return connection
