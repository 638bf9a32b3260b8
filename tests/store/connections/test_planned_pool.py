"""Tests planned sessions: at most the allowed number, each opened completely or not at all, and given to callers in turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import asyncpg
import pytest
from support.connections import connected

from tenax.errors import Unreachable
from tenax.settings import Settings
from tenax.store.connect import GONE, Connection, Database, connect
from tenax.store.connections.planned_pool import PlannedPool
from tenax.store.transaction import session

MOST = 2


@asynccontextmanager
async def opened(database_url: str) -> AsyncIterator[PlannedPool]:
    sessions = PlannedPool(lambda: connect(database_url), MOST)
    try:
        yield sessions
    finally:
        async with asyncio.timeout(10):
            await sessions.close()


@pytest.fixture
def sessions(database_url: str) -> AbstractAsyncContextManager[PlannedPool]:
    return opened(database_url)


@pytest.fixture
def witness(database_url: str) -> AbstractAsyncContextManager[Connection]:
    """A connection of its own, to look at the sessions."""
    return connected(database_url)


async def pid_of(sessions: PlannedPool) -> int:
    async with sessions.acquire() as connection:
        return int(await connection.fetchval("select pg_backend_pid()"))


async def test_the_one_used_last_is_used_next(sessions):
    async with sessions.acquire() as first, sessions.acquire() as second:
        assert first.get_server_pid() != second.get_server_pid()
    assert await pid_of(sessions) == await pid_of(sessions) == first.get_server_pid()
    assert sessions.get_size() == MOST


async def test_who_finds_none_waits_and_who_leaves_gives_its_turn_on(sessions):
    async with sessions.acquire():
        async with sessions.acquire() as given_back:
            impatient, patient = (asyncio.create_task(pid_of(sessions)) for _ in range(2))
            await asyncio.sleep(0)
        impatient.cancel()  # it has been told that one is free, and does not know it yet
        async with asyncio.timeout(10):
            assert await patient == given_back.get_server_pid()
    assert impatient.cancelled()


async def test_one_that_is_given_back_goes_to_who_waits_and_not_to_who_had_it(sessions):
    uses: list[str] = []

    async def use(name: str) -> None:
        async with sessions.acquire():
            uses.append(name)

    async with sessions.acquire():
        async with sessions.acquire():
            waiting = asyncio.create_task(use("who waits"))
            await asyncio.sleep(0)
        await use("who had it")
    await waiting
    assert uses == ["who waits", "who had it"]


async def test_who_is_cancelled_again_while_its_session_ends_keeps_nobody_waiting(sessions):
    started = [asyncio.Event() for _ in range(MOST)]

    async def sleep(event: asyncio.Event) -> None:
        async with sessions.acquire() as connection:
            event.set()
            await connection.execute("select pg_sleep(600)")

    sleepers = [asyncio.create_task(sleep(event)) for event in started]
    for event in started:
        await event.wait()
    waiting = asyncio.create_task(pid_of(sessions))
    await asyncio.sleep(0)
    for _ in range(2):
        sleepers[0].cancel()
        await asyncio.sleep(0)
    async with asyncio.timeout(10):
        assert await waiting > 0
    sleepers[1].cancel()
    await asyncio.wait(sleepers)


async def test_what_is_broken_off_is_over_when_the_block_is_left(sessions, witness):
    pid = await pid_of(sessions)

    async def sleep() -> None:
        async with sessions.acquire() as connection:
            await connection.execute("select pg_sleep(600)")

    sleeper = asyncio.create_task(sleep())
    running = "select count(*) from pg_stat_activity where pid = $1 and state = 'active'"
    async with asyncio.timeout(10):
        while not await witness.fetchval(running, pid):
            pass
        sleeper.cancel()
        await asyncio.wait([sleeper])
    assert await witness.fetchval(running, pid) == 0
    assert await pid_of(sessions) != pid


async def test_a_statement_that_fails_leaves_its_session_whole(sessions):
    pid = await pid_of(sessions)
    with pytest.raises(asyncpg.DivisionByZeroError):
        async with sessions.acquire() as connection:
            await connection.execute("select 1 / 0")
    assert await pid_of(sessions) == pid


async def test_a_session_that_is_gone_is_replaced(sessions, witness):
    pid = await pid_of(sessions)
    await witness.execute("select pg_terminate_backend($1)", pid)
    async with asyncio.timeout(10):
        while True:
            try:
                assert await pid_of(sessions) != pid
            except GONE:
                continue  # it did not know yet
            break
    assert sessions.get_size() == 1


async def test_one_that_cannot_be_opened_keeps_nobody_waiting(database_url):
    may_open = asyncio.Event()

    async def fails_once() -> asyncpg.Connection:
        if not may_open.is_set():
            may_open.set()
            raise OSError("no route")
        return await connect(database_url)

    sessions = PlannedPool(fails_once, 1)
    first, second = (asyncio.create_task(pid_of(sessions)) for _ in range(2))
    async with asyncio.timeout(10):
        with pytest.raises(OSError, match="no route"):
            await first
        assert await second > 0
        await sessions.close()


async def test_one_that_is_opened_while_they_close_is_not_used(database_url):
    connection = await connect(database_url)
    opening, may_go_on = asyncio.Event(), asyncio.Event()

    async def slowly() -> asyncpg.Connection:
        opening.set()
        await may_go_on.wait()
        return connection

    sessions = PlannedPool(slowly)
    using = asyncio.create_task(pid_of(sessions))
    async with asyncio.timeout(10):
        await opening.wait()
        closing = asyncio.create_task(sessions.close())
        await asyncio.sleep(0)
        assert not closing.done()
        may_go_on.set()
        await closing
        with pytest.raises(asyncpg.InterfaceError, match="closed"):
            await using
    assert connection.is_closed()


async def test_those_that_can_be_had_are_opened_ahead(database_url):
    tries = iter([OSError("no route")])

    async def fails_once() -> asyncpg.Connection:
        for error in tries:
            raise error
        return await connect(database_url)

    sessions = PlannedPool(fails_once, 3)
    await sessions.open_ahead()
    assert sessions.get_size() == 2
    async with sessions.acquire(), sessions.acquire():
        assert sessions.get_size() == 2
        async with sessions.acquire():
            assert sessions.get_size() == 3
    await sessions.close()


async def test_closing_waits_for_what_is_used_and_nothing_is_opened_then(database_url, tmp_path):
    settings = Settings(home=tmp_path, database_url=database_url)
    async with Database.open(settings) as database:
        with pytest.raises(ZeroDivisionError):
            async with session(database):
                raise ZeroDivisionError  # the last connection ends, and a new one takes its place
        async with session(database) as connection:
            closing = asyncio.create_task(database.planned_pool.close())
            await asyncio.wait([closing], timeout=0.05)
            assert not closing.done()
            assert await connection.fetchval("select 1") == 1
        await closing
        with pytest.raises(Unreachable, match="closed"):
            async with session(database):
                pass
