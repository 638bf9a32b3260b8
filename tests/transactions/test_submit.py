"""Submissions with each driver: a commit starts the execution, and a rollback leaves nothing."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest
from transactions.conftest import House
from transactions.drivers import ASYNC, SYNC, RolledBack, atomic, in_thread, insert, roll_back

from tenax import task
from tenax.errors import InvalidInput, UsageError
from tenax.model.wire import Submission
from tenax.transactions import submit, submit_sync

SOURCE = """
name: greet
input: {name: {type: string, required: true}}
workflow:
  - {step: greet, type: python, task: transactions_greet, args: {name: "{{ input.name }}"}}
"""


@task(name="transactions_greet")
async def greet(name: str) -> str:
    return f"hello {name}"


async def left(house: House) -> tuple[int, int, int]:
    """Returns the number of rows of the application, of requests, and of executions."""
    [row] = await house.sql(
        "select (select count(*) from public.effect), (select count(*) from tenax.requested_submission),"
        " (select count(*) from tenax.execution)"
    )
    return tuple(row)


@pytest.mark.parametrize("driver", ASYNC)
async def test_a_commit_starts_it_and_a_rollback_leaves_nothing(house, driver):
    await house.engine.store_workflow(SOURCE)
    await roll_back(ASYNC[driver](house.url), lambda opened: submit(opened, "greet", {"name": "nobody"}))
    assert await left(house) == (0, 0, 0)
    async with ASYNC[driver](house.url) as connection:
        await insert(connection, "row")
        id_ = await submit(connection, "greet", {"name": "Ann"}, key="k")
        assert await submit(connection, "greet", {"name": "Ann"}, key="k") == id_
    assert (await house.ended(id_)).result == {"greet": "hello Ann"}
    assert await left(house) == (1, 0, 1)
    assert await house.violations() == []


@pytest.mark.parametrize("driver", SYNC)
async def test_drivers_that_block(house, driver):
    never = Submission(source=SOURCE, input={"name": "nobody"})
    await roll_back(SYNC[driver](house.url), lambda opened: submit_sync(opened, never))
    assert await left(house) == (0, 0, 0)
    async with SYNC[driver](house.url) as connection:
        await insert(connection, "row")
        id_ = submit_sync(connection, Submission(source=SOURCE, input={"name": "Bo"}, key="k"))
    found = await house.ended(id_)
    assert (found.result, found.key) == ({"greet": "hello Bo"}, "k")
    assert await left(house) == (1, 0, 1)


async def test_django(house):
    def rolled_back() -> None:
        with atomic(house.url) as connection:
            connection.cursor().execute("insert into public.effect (attempt) values ('never')")
            submit_sync(connection, "greet", {"name": "nobody"})
            raise RolledBack

    def committed() -> int:
        with atomic(house.url) as connection:
            connection.cursor().execute("insert into public.effect (attempt) values ('row')")
            return submit_sync(connection, "greet", {"name": "Cy"})

    await house.engine.store_workflow(SOURCE)
    with pytest.raises(RolledBack):
        await in_thread(rolled_back)
    assert await left(house) == (0, 0, 0)
    id_ = await in_thread(committed)
    assert (await house.ended(id_)).result == {"greet": "hello Cy"}
    assert await left(house) == (1, 0, 1)


async def test_a_savepoint_takes_its_submission_back(house):
    await house.engine.store_workflow(SOURCE)
    async with ASYNC["asyncpg"](house.url) as connection:
        kept = await submit(connection, "greet", {"name": "Ann"})
        savepoint = connection.transaction()
        await savepoint.start()
        await submit(connection, "greet", {"name": "Bo"})
        await savepoint.rollback()
    await house.ended(kept)
    assert await left(house) == (0, 0, 1)


async def test_many_submissions_of_one_transaction_all_start(house):
    await house.engine.store_workflow(SOURCE)
    async with ASYNC["psycopg"](house.url) as connection:
        ids = [await submit(connection, "greet", {"name": str(n)}) for n in range(50)]
    assert [(await house.ended(id_)).result for id_ in ids] == [{"greet": f"hello {n}"} for n in range(50)]


async def test_connections_that_do_not_fit_are_named(house):
    odd: Any = sqlite3.connect(":memory:")
    with pytest.raises(UsageError, match=r"sqlite3\.Connection is no connection of asyncpg"):
        submit_sync(odd, "greet")
    async with ASYNC["asyncpg"](house.url) as connection:
        with pytest.raises(UsageError, match="is a connection for asyncio"):
            submit_sync(connection, "greet")
        with pytest.raises(InvalidInput, match="beyond 64 bits"):
            await submit(connection, "greet", {"name": 2**70})
    async with SYNC["psycopg"](house.url) as connection:
        with pytest.raises(UsageError, match="is a connection that blocks"):
            await submit(connection, "greet")
