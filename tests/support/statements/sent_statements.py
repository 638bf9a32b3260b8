"""Counts the statements that an engine sends to its database."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

from support.hand import Hand
from tenax.store.statements import sql


async def counting(hand: Hand, name: str) -> list[Any]:
    """Returns a list that grows by one each time the statement with this name is sent."""
    database, sent, text = hand.engine.context.database, [], sql(name)

    def note(query: Any) -> None:
        if query.query == text:
            sent.append(query.args)

    await database.planned_pool.open_ahead()  # a connection that is opened later would not be observed
    async with AsyncExitStack() as stack:
        for pool in (database.pool, database.planned_pool):
            for _ in range(pool.get_size()):
                (await stack.enter_async_context(pool.acquire())).add_query_logger(note)
    return sent
