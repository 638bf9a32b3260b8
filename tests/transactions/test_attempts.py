"""Attempts that complete in the transaction of their own writes: both are committed, or neither is."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from transactions.conftest import House
from transactions.drivers import ASYNC, SYNC, RolledBack, atomic, insert

from tenax import context, task
from tenax.embed import LocalTransport
from tenax.errors import UsageError
from tenax.model.wire import Submission
from tenax.sdk.context import CURRENT, TaskContext
from tenax.sdk.outcomes import Cancelled
from tenax.transactions import complete, complete_sync
from tenax.transactions.task_database import TaskDatabase
from tenax.worker.worker import Worker

RUNS: dict[str, Any] = {}
"""What a test wants a task to do, by its name: the address of the database, and the driver."""


def source(name: str, **more: Any) -> str:
    policy = more.get("retry", "{max_attempts: 3, initial_delay: 10ms}")
    return f"""
name: work
workflow:
  - {{step: only, type: python, task: {name}, timeout: {more.get("timeout", "30s")}, retry: {policy}}}
"""


async def effects(house: House) -> list[str]:
    return [row["attempt"] for row in await house.sql("select attempt from public.effect order by n")]


async def sound(house: House) -> bool:
    return not await house.violations() and not await house.sql("select from tenax.attempt_result")


@task(name="transactions_writes")
async def writes(ctx: TaskContext) -> None:
    async with ctx.transaction() as connection:
        await insert(connection, f"attempt {ctx.attempt}")
        ctx.complete({"attempt": ctx.attempt})


@task(name="transactions_fails_before")
async def fails_before(ctx: TaskContext) -> None:
    async with ctx.transaction() as connection:
        await insert(connection, f"attempt {ctx.attempt}")
        ctx.complete(ctx.attempt)
        if ctx.attempt == 1:
            raise OSError("before the commit")


@task(name="transactions_fails_after")
async def fails_after(ctx: TaskContext) -> None:
    async with ctx.transaction() as connection:
        await insert(connection, f"attempt {ctx.attempt}")
        ctx.complete(ctx.attempt)
    raise OSError("after the commit")


@task(name="transactions_hangs_after")
async def hangs_after(ctx: TaskContext) -> None:
    async with ctx.transaction() as connection:
        await insert(connection, f"attempt {ctx.attempt}")
        ctx.complete(ctx.attempt)
    await asyncio.Event().wait()


@task(name="transactions_returns_otherwise")
async def returns_otherwise(ctx: TaskContext) -> str:
    async with ctx.transaction():
        ctx.complete("recorded")
    return "returned"


@task(name="transactions_forgets")
async def forgets(ctx: TaskContext) -> str:
    async with ctx.transaction() as connection:
        await insert(connection, "never")
        return "forgotten"


@task(name="transactions_blocks")
def blocks(ctx: TaskContext) -> None:
    with ctx.transaction() as connection:
        connection.execute("insert into public.effect (attempt) values (%s)", (f"attempt {ctx.attempt}",))
        ctx.complete(ctx.attempt)
        if ctx.attempt == 1:
            raise OSError("before the commit")


@task(name="transactions_own")
async def own() -> None:
    async with ASYNC[RUNS["driver"]](RUNS["url"]) as connection:
        await insert(connection, f"attempt {context().attempt}")
        await complete(connection, context().attempt)
        if context().attempt == 1:
            raise RolledBack


@task(name="transactions_own_blocks")
def own_blocks() -> None:
    async def inner() -> None:
        async with SYNC[RUNS["driver"]](RUNS["url"]) as connection:
            await insert(connection, f"attempt {context().attempt}")
            complete_sync(connection, context().attempt)
            if context().attempt == 1:
                raise RolledBack

    asyncio.run(inner())


@task(name="transactions_django")
def in_django() -> None:
    with atomic(RUNS["url"]) as connection:
        connection.cursor().execute("insert into public.effect (attempt) values ('row')")
        complete_sync(connection, "done")


@task(name="transactions_swallows")
async def swallows(ctx: TaskContext) -> str:
    try:
        async with ASYNC["asyncpg"](RUNS["url"]) as connection:
            await insert(connection, f"attempt {ctx.attempt}")
            await complete(connection, ctx.attempt)
            if ctx.attempt == 1:
                raise RolledBack
    except RolledBack:
        pass
    return "well"


async def test_the_writes_and_the_success_are_one(house):
    found = await house.run(source("transactions_writes"))
    assert found.result == {"only": {"attempt": 1}}
    assert await effects(house) == ["attempt 1"]
    assert await sound(house)


async def test_a_failure_in_the_block_takes_the_writes_back(house):
    found = await house.run(source("transactions_fails_before"))
    assert found.result == {"only": 2}
    assert await effects(house) == ["attempt 2"]
    assert await sound(house)


async def test_a_failure_after_the_commit_is_recorded_and_changes_nothing(house):
    found = await house.run(source("transactions_fails_after"))
    assert (found.status, found.result) == ("completed", {"only": 1})
    assert await effects(house) == ["attempt 1"]
    [late] = [e.data for e in await house.engine.events(found.id) if e.type == "late_result"]
    assert late["failure"]["message"] == "OSError: after the commit"
    assert await sound(house)


async def test_a_timeout_after_the_commit_changes_nothing(house):
    found = await house.run(source("transactions_hangs_after", timeout="300ms"))
    assert (found.status, found.result) == ("completed", {"only": 1})
    assert await effects(house) == ["attempt 1"]
    assert await sound(house)


async def test_the_recorded_result_is_the_one_that_counts(house, caplog):
    found = await house.run(source("transactions_returns_otherwise"))
    assert found.result == {"only": "recorded"}
    assert "another result than its transaction has recorded" in caplog.text


async def test_a_block_that_states_no_result_is_an_error(house):
    found = await house.run(source("transactions_forgets", retry="false"))
    assert found.status == "failed"
    assert "ended without ctx.complete(result)" in str(found.failure)
    assert await effects(house) == []


async def test_a_sync_task_has_a_connection_of_psycopg(house):
    found = await house.run(source("transactions_blocks"))
    assert found.result == {"only": 2}
    assert await effects(house) == ["attempt 2"]
    assert await sound(house)


@pytest.mark.parametrize("driver", ASYNC)
async def test_a_connection_of_the_task_itself(house, driver):
    RUNS.update(driver=driver, url=house.url)
    found = await house.run(source("transactions_own"))
    assert found.result == {"only": 2}
    assert await effects(house) == ["attempt 2"]
    assert await sound(house)


@pytest.mark.parametrize("driver", SYNC)
async def test_a_connection_that_blocks(house, driver):
    RUNS.update(driver=driver, url=house.url)
    found = await house.run(source("transactions_own_blocks"))
    assert found.result == {"only": 2}
    assert await effects(house) == ["attempt 2"]
    assert await sound(house)


async def test_django_completes_in_its_atomic_block(house):
    RUNS.update(url=house.url)
    found = await house.run(source("transactions_django"))
    assert found.result == {"only": "done"}
    assert await effects(house) == ["row"]


async def test_a_task_that_hides_a_rollback_has_not_succeeded(house):
    RUNS.update(url=house.url)
    found = await house.run(source("transactions_swallows"))
    assert found.result == {"only": 2}
    [error] = [e.data for e in await house.engine.events(found.id) if e.type == "action_error"]
    assert error["failure"]["reason"] == "not_committed"
    assert await effects(house) == ["attempt 2"]
    assert await sound(house)


async def test_a_worker_without_the_database_says_so(database_url, house):
    worker = Worker(LocalTransport(house.engine), name="poor", queues=("poor",))
    stop = asyncio.Event()
    running = asyncio.create_task(worker.run(stop))
    definition = source("transactions_writes", retry="false").replace("timeout:", "queue: poor, timeout:")
    found = await house.run(definition)
    assert "not given the database" in str(found.failure)
    assert "tenax worker --database URL" in str(found.failure)
    stop.set()
    await running


async def test_a_revoked_attempt_writes_nothing(house):
    """The execution is cancelled while its task is within the block."""
    inside, cancelled = asyncio.Event(), asyncio.Event()
    said: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    @task(name="transactions_waits")
    async def waits(ctx: TaskContext) -> None:
        try:
            async with ctx.transaction() as connection:
                await insert(connection, "never")
                ctx.complete()
                inside.set()
                await cancelled.wait()
        except Cancelled as error:
            said.set_result(str(error))
            raise

    [submitted] = await house.engine.submit([Submission(source=source("transactions_waits"))])
    await inside.wait()
    await house.engine.cancel(submitted.id, actor="ann")
    cancelled.set()
    await house.ended(submitted.id)
    assert "nothing was written" in await asyncio.wait_for(said, 30)
    assert await effects(house) == []
    assert await sound(house)


async def test_a_thread_that_was_given_up_cannot_complete_any_more(house):
    """Its worker has reported the timeout, and the server may not have heard of it yet."""
    begun, given_up, refused = threading.Event(), threading.Event(), threading.Event()

    @task(name="transactions_slow_thread")
    def slow(ctx: TaskContext) -> None:
        if ctx.attempt > 1:
            return
        with ctx.transaction() as connection:
            connection.execute("insert into public.effect (attempt) values ('never')")
            ctx.complete()
            begun.set()
            given_up.wait(30)
            ctx_refuses(ctx, refused)

    found = await house.run(source("transactions_slow_thread", timeout="300ms"))
    assert begun.is_set()
    assert found.status == "completed"
    given_up.set()
    assert await asyncio.to_thread(refused.wait, 30)
    assert await effects(house) == []
    assert await sound(house)


def ctx_refuses(ctx: TaskContext, refused: threading.Event) -> None:
    """Completes an attempt that the worker has closed, and notes that it was refused."""
    completion = ctx.end_transaction()
    assert completion is not None
    try:
        ctx.send_completion(completion)
    except Cancelled:
        refused.set()
        raise


async def test_an_attempt_completes_once(house):
    @task(name="transactions_twice")
    async def twice(ctx: TaskContext) -> None:
        async with ctx.transaction():
            ctx.complete(1)
        async with ctx.transaction():
            ctx.complete(2)

    found = await house.run(source("transactions_twice"))
    assert found.result == {"only": 1}
    assert await sound(house)


def test_complete_belongs_into_the_block(assignment_context):
    with pytest.raises(UsageError, match=r"belongs into the block of ctx\.transaction\(\)"):
        assignment_context.complete(1)


@pytest.fixture
def assignment_context() -> TaskContext:
    from tenax.model.wire import Assignment

    assignment = Assignment(1, 2, 1, "token", "step", "python", {}, 30.0, "receipt", "flow", 3)
    return TaskContext(assignment, started=0.0)


def test_a_task_in_a_process_of_its_own_has_no_transaction(assignment_context):
    with pytest.raises(UsageError, match="a process of its own"):
        assignment_context.transaction()
    token = CURRENT.set(assignment_context)
    try:
        with pytest.raises(UsageError, match="a process of its own"):
            complete_sync(object(), 1)
    finally:
        CURRENT.reset(token)


async def test_a_database_without_tenax_is_named(house, empty_database_url):
    worker = Worker(
        LocalTransport(house.engine), name="lost", queues=("lost",), database=TaskDatabase(empty_database_url)
    )
    stop = asyncio.Event()
    running = asyncio.create_task(worker.run(stop))

    @task(name="transactions_elsewhere")
    async def elsewhere(ctx: TaskContext) -> None:
        async with ctx.transaction():
            ctx.complete()

    definition = source("transactions_elsewhere", retry="false").replace("timeout:", "queue: lost, timeout:")
    found = await house.run(definition)
    assert "has no function tenax.complete" in str(found.failure)
    stop.set()
    await running
