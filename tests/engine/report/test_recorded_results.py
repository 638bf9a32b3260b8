"""Tests results that attempts commit in transactions of their own: whatever ends the lease makes one success of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest
from support.hand import ONE_STEP, Hand

from tenax.errors import Conflict
from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.json_text import encode
from tenax.model.wire import Assignment, EndedLife

FAN_OUT = """
name: fan
workflow:
  - {step: each, type: python, task: "a:b", for_each: [1, 2], parallelism: 2, retry: {max_attempts: 2, initial_delay: 1}}
"""
DONE = [
    "execution_started",
    "step_enqueued",
    "action_started",
    "action_completed",
    "step_completed",
    "execution_completed",
]
FAILED = Outcome("failed", facts=Facts(exception="builtins.OSError", message="broke"), recorded=True)
LIFE = "6a0b6a3c-6f8f-4c58-9d0e-0d1c5b0c9a51"


@asynccontextmanager
async def connected(hand: Hand) -> AsyncIterator[asyncpg.Connection]:
    connection = await hand.engine.context.database.connect()
    try:
        yield connection
    finally:
        await connection.close()


async def complete(connection: Any, a: Assignment, result: Any = None) -> None:
    await connection.execute(
        "select tenax.complete($1, $2, $3)", a.item_id, a.token, None if result is None else encode(result)
    )


async def completed(hand: Hand, a: Assignment, result: Any = None) -> None:
    async with connected(hand) as connection:
        await complete(connection, a, result)


async def sound(hand: Hand) -> bool:
    """Returns whether no law is broken and no recorded result is left."""
    report = await hand.engine.verify()
    return not report.violations and not await hand.sql("select from tenax.attempt_result")


async def waiting(hand: Hand) -> None:
    """Returns when a session waits for a lock."""
    while True:
        if await hand.sql("select from pg_locks where not granted"):
            return


async def test_the_report_takes_the_recorded_result(hand):
    id_, a = await hand.start()
    await completed(hand, a, {"paid": 7})
    assert await hand.status(id_) == "running"
    answer = await hand.report(a, Outcome("succeeded", {"paid": 7}, recorded=True))
    assert (answer.status, answer.verdict) == ("applied", "complete")
    assert await hand.types(id_) == DONE
    assert (await hand.engine.get(id_)).result == {"only": {"paid": 7}}
    assert (await hand.report(a, Outcome("succeeded", {"paid": 7}, recorded=True))).status == "applied"
    assert await hand.types(id_) == DONE
    assert await sound(hand)


async def test_the_recorded_result_wins_over_what_the_worker_says(hand):
    id_, a = await hand.start()
    await completed(hand, a, 1)
    assert (await hand.report(a, FAILED)).verdict == "complete"
    assert await hand.types(id_) == [*DONE, "late_result"]
    [late] = await hand.data_of(id_, "late_result")
    assert (late["status"], late["failure"]["message"]) == ("failed", "broke")
    assert (await hand.engine.get(id_)).result == {"only": 1}
    assert (await hand.report(a, FAILED)).status == "late"
    assert await sound(hand)


async def test_a_worker_that_dies_after_its_commit_has_succeeded(hand):
    id_, a = await hand.start()
    await completed(hand, a, {"paid": 7})
    await hand.wait(60)
    assert await hand.types(id_) == DONE
    assert (await hand.engine.get(id_)).result == {"only": {"paid": 7}}
    assert (await hand.report(a, Outcome("succeeded", {"paid": 7}, recorded=True))).status == "applied"
    assert await sound(hand)


async def test_an_attempt_that_timed_out_after_its_commit_has_succeeded(hand):
    id_, a = await hand.start(ONE_STEP + "    timeout: 5s\n")
    await completed(hand, a)
    await hand.wait(20)
    assert await hand.types(id_) == DONE
    assert await sound(hand)


async def test_a_worker_whose_process_was_seen_to_die_has_succeeded_too(hand):
    await hand.register(life=LIFE)
    id_, a = await hand.start()
    await completed(hand, a)
    await hand.engine.end_life(EndedLife("w1", LIFE))
    assert await hand.types(id_) == DONE
    assert await sound(hand)


async def test_a_commit_that_did_not_happen_is_no_success(hand):
    id_, a = await hand.start()
    answer = await hand.report(a, Outcome("succeeded", 1, recorded=True))
    assert answer.verdict == "retry"
    [error] = await hand.data_of(id_, "action_error")
    assert (error["failure"]["class"], error["failure"]["reason"]) == ("transient", "not_committed")
    assert await sound(hand)


async def test_a_failure_without_a_commit_is_decided_on_as_any_other(hand):
    id_, a = await hand.start()
    assert (await hand.report(a, FAILED)).verdict == "retry"
    assert await hand.counts(id_, "action_error", "late_result") == (1, 0)
    assert await sound(hand)


async def test_only_the_current_lease_completes_and_only_once(hand):
    _, a = await hand.start()
    async with connected(hand) as connection:
        with pytest.raises(asyncpg.PostgresError, match="is not valid any more") as raised:
            await connection.execute("select tenax.complete($1, gen_random_uuid())", a.item_id)
        assert raised.value.sqlstate == "TX001"
        await complete(connection, a)
        with pytest.raises(asyncpg.PostgresError, match="complete already") as raised:
            await complete(connection, a)
        assert raised.value.sqlstate == "TX002"
    await hand.wait(60)
    async with connected(hand) as connection:
        with pytest.raises(asyncpg.PostgresError, match="is not valid any more"):
            await complete(connection, a)


@pytest.mark.settings(max_body=2000)
async def test_a_result_is_bounded_as_every_body(hand):
    _, a = await hand.start()
    async with connected(hand) as connection:
        with pytest.raises(asyncpg.ProgramLimitExceededError, match=r"2000 bytes \(max_body\)"):
            await complete(connection, a, "x" * 3000)
        with pytest.raises(asyncpg.InvalidParameterValueError, match="a number beyond 1e308"):
            await connection.execute("select tenax.complete($1, $2, '1e400')", a.item_id, a.token)


@pytest.mark.parametrize("commits", [True, False])
async def test_the_reaper_waits_for_a_transaction_that_is_about_to_end(hand, commits):
    id_, a = await hand.start()
    await hand.pass_time(60)
    async with connected(hand) as connection:
        transaction = connection.transaction()
        await transaction.start()
        await complete(connection, a)
        reaping = asyncio.create_task(hand.engine.reap())
        await waiting(hand)
        await (transaction.commit() if commits else transaction.rollback())
        await reaping
    assert (await hand.types(id_))[3] == ("action_completed" if commits else "lease_expired")
    assert await sound(hand)


@pytest.mark.parametrize("commits", [True, False])
async def test_a_report_waits_for_the_transaction_of_its_attempt(hand, commits):
    """The connection of a worker breaks, and its commit is still under way when the report arrives."""
    id_, a = await hand.start()
    async with connected(hand) as connection:
        transaction = connection.transaction()
        await transaction.start()
        await complete(connection, a)
        reporting = asyncio.create_task(hand.report(a, FAILED))
        await waiting(hand)
        await (transaction.commit() if commits else transaction.rollback())
        answer = await reporting
    assert answer.verdict == ("complete" if commits else "retry")
    assert (await hand.types(id_))[3] == ("action_completed" if commits else "action_error")
    assert await sound(hand)


async def test_a_heartbeat_does_not_wait_for_the_transaction(hand):
    await hand.register()
    _, a = await hand.start()
    async with connected(hand) as connection, connection.transaction():
        await complete(connection, a)
        assert (await hand.beat(a)).revoked == ()


async def test_a_transaction_that_stands_still_after_it_completed_is_ended(hand):
    _, a = await hand.start()
    async with connected(hand) as connection:
        async with connection.transaction():
            await complete(connection, a)
            assert await connection.fetchval("show idle_in_transaction_session_timeout") == "10s"
        await connection.execute("set idle_in_transaction_session_timeout = '2s'")
        assert await connection.fetchval("show idle_in_transaction_session_timeout") == "2s"


async def test_what_a_person_cancelled_first_cannot_be_completed(hand):
    id_, a = await hand.start()
    await hand.engine.cancel(id_, actor="ann")
    async with connected(hand) as connection:
        with pytest.raises(asyncpg.PostgresError, match="is not valid any more"):
            await complete(connection, a)
    assert await sound(hand)


async def test_what_has_committed_cannot_be_cancelled(hand):
    id_, a = await hand.start()
    await completed(hand, a, 7)
    with pytest.raises(Conflict, match="is completed: there is nothing to cancel"):
        await hand.engine.cancel(id_, actor="ann")
    assert await hand.types(id_) == DONE
    assert (await hand.report(a, Outcome("succeeded", 7, recorded=True))).status == "applied"
    assert await sound(hand)


async def test_a_cancelled_execution_keeps_the_success_of_a_step_that_has_committed(hand):
    id_ = await hand.submit(FAN_OUT)
    first, _ = await hand.lease()
    await completed(hand, first, "a")
    assert await hand.engine.cancel(id_, actor="ann")
    assert await hand.status(id_) == "cancelled"
    assert await hand.counts(id_, "action_completed", "item_cancelled") == (1, 1)
    assert await sound(hand)


@pytest.mark.parametrize(("action", "more"), [("fail", {}), ("complete", {"result": 8}), ("resolve", {})])
async def test_an_operator_acts_on_what_a_commit_has_left(hand, action, more):
    id_, a = await hand.start()
    await completed(hand, a, 7)
    with pytest.raises(Conflict):
        await hand.act(id_, action, step="only", reason="because", **more)
    assert await hand.types(id_) == DONE
    assert await sound(hand)


async def test_a_result_without_a_lease_is_recorded_as_late(hand):
    """Nothing leaves one. If something does, the sweep finds it, and `verify` tells of it before."""
    id_, a = await hand.start()
    await completed(hand, a, 7)
    await hand.sql("update tenax.attempt_result set lease_token = gen_random_uuid()")
    await hand.succeed(a, 8)
    await hand.pass_time(400)
    [violation] = (await hand.engine.verify()).violations
    assert (violation.law, violation.execution) == ("recorded-result-taken", id_)
    await hand.engine.maintenance.sweep()
    assert [data["result"] for data in await hand.data_of(id_, "late_result")] == [7]
    assert await sound(hand)


async def test_verify_finds_a_result_that_its_end_has_not_taken(hand):
    id_, a = await hand.start()
    await completed(hand, a)
    [row] = await hand.sql("select * from tenax.attempt_result")
    await hand.report(a, Outcome("succeeded", recorded=True))
    marks = ", ".join(f"${n}" for n in range(1, len(row) + 1))
    await hand.sql(f"insert into tenax.attempt_result values ({marks})", *row.values())
    for report in (await hand.engine.verify(), await hand.engine.verify(only=id_)):
        assert [v.law for v in report.violations] == ["recorded-result-taken"]


async def test_items_of_a_fan_out_complete_in_transactions(hand):
    id_ = await hand.submit(FAN_OUT)
    first, second = await hand.lease()
    await completed(hand, first, "a")
    await hand.report(first, Outcome("succeeded", "a", recorded=True))
    await completed(hand, second, "b")
    await hand.wait(60)
    assert (await hand.engine.get(id_)).result == {"each": ["a", "b"]}
    assert await sound(hand)
