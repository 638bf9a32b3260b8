"""Calls of tasks that are submitted in the transaction of a connection: `task.options(connection=...)`."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from transactions.drivers import ASYNC, SYNC, insert

from tenax import TaskContext, Tenax, task
from tenax.errors import NotFound, NotStarted, Rejected, UsageError
from tenax.transactions import submit


@dataclass
class Order:
    id: int


@task
async def charge(order: Order) -> str:
    return f"charged {order.id}"


@task
async def book(ctx: TaskContext, order: Order) -> None:
    async with ctx.transaction() as connection:
        await insert(connection, f"order {order.id}")
        ctx.complete(order.id)


async def test_a_handle_waits_for_what_its_transaction_submitted(database_url, tmp_path):
    async with Tenax(database_url, home=str(tmp_path)) as app, app.worker():
        async with ASYNC["asyncpg"](database_url) as connection:
            handle = await charge.options(connection=connection, key="k").submit(Order(7))
            with pytest.raises(NotFound):
                await handle.status()
        assert await handle.result(timeout=60) == "charged 7"
        never = []

        async def place(opened: object) -> None:
            never.append(await charge.options(connection=opened).submit(Order(8)))

        await roll_back_without_rows(ASYNC["psycopg"](database_url), place)
        with pytest.raises(NotFound, match="there is no execution"):
            await never[0].result(timeout=60)


async def roll_back_without_rows(opened, place) -> None:
    async with opened as connection:
        await place(connection)
        await connection.rollback()


async def test_many_calls_and_fan_outs_are_part_of_the_transaction(database_url, tmp_path):
    async with Tenax(database_url, home=str(tmp_path)) as app, app.worker():
        async with ASYNC["SQLAlchemy AsyncSession"](database_url) as session:
            calls = charge.options(connection=session)
            many = await calls.submit_many([Order(1), Order(2)])
            mapped = await calls.map([Order(3), Order(4)])
        assert [await handle for handle in many] == ["charged 1", "charged 2"]
        assert await mapped == ["charged 3", "charged 4"]


async def test_connections_that_block(database_url, tmp_path):
    async with Tenax(database_url, home=str(tmp_path)) as app, app.worker():
        async with SYNC["psycopg"](database_url) as connection:
            calls = charge.options(connection=connection)
            one = calls.submit_sync(Order(1))
            [other] = calls.submit_many_sync([Order(2)])
            mapped = calls.map_sync([Order(3)])
        ids = [one.id, other.id, mapped.id]
        results = [await app.handle(id_).result(timeout=60) for id_ in ids]
        assert results == [{"run": "charged 1"}, {"run": "charged 2"}, {"run": ["charged 3"]}]


async def test_no_application_needs_to_be_open(database_url, tmp_path):
    async with ASYNC["asyncpg"](database_url) as connection:
        handle = await charge.options(connection=connection).submit(Order(7))
        assert await submit(connection, charge.submission(Order(8))) == handle.id + 1
    with pytest.raises(UsageError, match="no application is open"):
        await handle.result()
    async with Tenax(database_url, home=str(tmp_path)) as app, app.worker():
        assert await handle.result(timeout=60) == "charged 7"


async def test_what_is_not_started_or_rejected_is_told_by_the_type_of_the_error(database_url, tmp_path):
    async with Tenax(database_url, home=str(tmp_path)) as app:
        engine = app.engine
        assert engine is not None
        async with ASYNC["asyncpg"](database_url) as connection:
            wrong = await submit(connection, charge.submission(Order(7)), {"order": 7, "odd": 1}, key="w")
            await connection.execute("lock table tenax.requested_submission in share row exclusive mode")
        with pytest.raises((Rejected, NotStarted)):
            await app.client.get(wrong)
        with pytest.raises(Rejected, match="its submission was rejected"):
            await app.handle(wrong).result(timeout=60)


async def test_the_worker_of_an_application_gives_its_tasks_transactions(database_url, tmp_path):
    async with Tenax(database_url, home=str(tmp_path)) as app, app.worker():
        async with ASYNC["asyncpg"](database_url) as connection:
            await connection.execute("create table public.effect (attempt text, n serial)")
        try:
            handle = await book.submit(Order(7))
            assert (await app.client.wait(handle.id))["result"] == {"run": 7}
            async with ASYNC["asyncpg"](database_url) as connection:
                assert await connection.fetchval("select attempt from public.effect") == "order 7"
        finally:
            async with ASYNC["asyncpg"](database_url) as connection:
                await connection.execute("drop table public.effect")
