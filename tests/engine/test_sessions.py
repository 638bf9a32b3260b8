"""Tests that long work leaves some sessions of a server to other work."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

from tenax.engine.context import VIEWS_AT_ONCE
from tenax.server.auth import Authenticator
from tenax.store.fleet.tokens import create_token

SESSIONS = 8


async def test_views_leave_sessions_to_other_work(hand):
    id_ = await hand.submit()
    context = hand.engine.context
    async with AsyncExitStack() as open_sessions:
        for _ in range(VIEWS_AT_ONCE):
            await open_sessions.enter_async_context(context.view())
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
