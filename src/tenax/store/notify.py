"""LISTEN and NOTIFY between servers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from tenax.errors import Unreachable
from tenax.store.connect import Database
from tenax.store.session import transaction

CHANNEL = "tenax_news"
PAUSE = 0.5
"""Seconds before a lost connection is tried again."""


async def notify(database: Database, message: str) -> None:
    async with transaction(database) as tx:
        await tx.execute("select pg_notify($1, $2)", CHANNEL, message)


async def listen(database: Database) -> AsyncIterator[str | None]:
    """Messages as they come; None where a connection was (re)made and messages may have been missed."""
    while True:
        try:
            connection = await database.connect()
        except Unreachable:
            await asyncio.sleep(PAUSE)
            continue
        messages: asyncio.Queue[str | None] = asyncio.Queue()

        def heard(
            _connection: Any,
            _pid: int,
            _channel: str,
            payload: str,
            box: asyncio.Queue[str | None] = messages,
        ) -> None:
            box.put_nowait(payload)

        def lost(_connection: Any, box: asyncio.Queue[str | None] = messages) -> None:
            box.put_nowait(None)

        try:
            await connection.add_listener(CHANNEL, heard)
            connection.add_termination_listener(lost)
            yield None
            while (message := await messages.get()) is not None:
                yield message
        finally:
            await connection.close(timeout=1)
        await asyncio.sleep(PAUSE)
