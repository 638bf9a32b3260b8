"""Tests that long work leaves some sessions of a server to other work."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
from support.hand import Hand

from tenax.engine.context import VIEWS_AT_ONCE, EngineContext
from tenax.engine.definitions.sender_turns import sent_by
from tenax.store.fleet.tokens import create_token
from tenax.web.auth import Authenticator

SESSIONS = 8


LOOKS: dict[str, Callable[[Hand], Awaitable[Any]]] = {
    "verify": lambda hand: hand.engine.verify(),
    "stats": lambda hand: hand.engine.metrics.stats(),
    "alerts": lambda hand: hand.engine.metrics.alerts(),
    "overview": lambda hand: hand.engine.metrics.overview(),
    "queues": lambda hand: hand.engine.queues(),
}


async def take_all_views(context: EngineContext, open_sessions: AsyncExitStack) -> None:
    for sender in range(VIEWS_AT_ONCE):
        with sent_by("caller", sender):
            await open_sessions.enter_async_context(context.view())


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
async def test_expensive_looks_count_as_views(hand, look):
    context = hand.engine.context
    async with AsyncExitStack() as open_sessions:
        await take_all_views(context, open_sessions)
        further = asyncio.create_task(look(hand))
        for _ in range(3):
            async with context.transaction() as tx:
                await tx.fetchval("select pg_sleep(0.01)")
        assert not further.done()
    assert await further is not None


async def test_one_caller_leaves_a_view_to_others(hand):
    id_ = await hand.submit()
    context = hand.engine.context
    async with AsyncExitStack() as open_sessions:
        with sent_by("caller", "greedy"):
            for _ in range(VIEWS_AT_ONCE - 1):
                await open_sessions.enter_async_context(context.view())
            more = [asyncio.create_task(hand.engine.get(id_)) for _ in range(50)]
        with sent_by("caller", "other"):
            async with asyncio.timeout(20):
                assert (await hand.engine.get(id_)).id == id_
        assert not any(one.done() for one in more)
    assert {one.id for one in await asyncio.gather(*more)} == {id_}


async def test_views_leave_sessions_to_other_work(hand):
    id_ = await hand.submit()
    context = hand.engine.context
    async with AsyncExitStack() as open_sessions:
        await take_all_views(context, open_sessions)
        further = asyncio.create_task(hand.engine.get(id_))
        async with asyncio.timeout(20):
            for _ in range(SESSIONS - VIEWS_AT_ONCE):
                await open_sessions.enter_async_context(context.transaction())
        assert not further.done()
    assert (await further).id == id_


async def test_a_token_is_looked_up_while_all_sessions_of_the_pool_are_taken(hand):
    context = hand.engine.context
    async with context.transaction() as tx:
        _, secret = await create_token(tx, "me", "operator")
    headers = [(b"authorization", f"Bearer {secret}".encode())]
    scope = {"method": "GET", "path": "/v1/executions", "headers": headers}
    async with AsyncExitStack() as open_sessions:
        for _ in range(SESSIONS):
            await open_sessions.enter_async_context(context.transaction())
        async with asyncio.timeout(20):
            principal = await Authenticator(context, is_open=False).admit(scope)
    assert principal.name == "me"
