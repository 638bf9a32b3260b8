"""Tests the actions of people (cancel, retry now, retry as a new execution), and what the engine repairs by itself."""

from __future__ import annotations

import pytest
from support.hand import Hand

from tenax.errors import Conflict, NotFound

CHAIN = """
name: chain
workflow:
  - {step: a, type: python, task: "t:t"}
  - {step: b, type: python, task: "t:t", needs: [a], retry: {max_attempts: 4, initial_delay: 1h, max_delay: 1h, jitter: 0}}
  - {step: c, type: python, task: "t:t", needs: [b]}
"""


async def waiting_in_b(hand: Hand) -> int:
    id_ = await hand.submit(CHAIN)
    await hand.succeed(await hand.lease_one(), {"from": "a"})
    await hand.fail(await hand.lease_one())
    return id_


async def test_cancel_ends_what_waits_at_once(hand):
    id_ = await waiting_in_b(hand)
    assert await hand.engine.cancel(id_, actor="ann", reason="wrong day") is True
    assert await hand.engine.cancel(id_, actor="ann") is False
    await hand.clock.advance(7200)
    assert await hand.lease() == []
    execution = await hand.get(id_)
    assert execution["status"] == "cancelled"
    assert execution["failure"]["class"] == "cancelled"
    assert [s["status"] for s in execution["steps"].values()] == ["completed", "cancelled", "cancelled"]
    who = next(e for e in await hand.events(id_) if e["type"] == "operator_action")
    assert who["data"] == {"action": "cancel", "actor": "ann", "reason": "wrong day"}


async def test_retry_now_starts_a_waiting_retry_at_once_and_grants_nothing(hand):
    id_ = await waiting_in_b(hand)
    assert await hand.lease() == []
    told = await hand.retry(id_)
    assert (told.id, told.steps, told.items, told.reopened) == (id_, ["b"], 1, [])
    again = await hand.lease_one()
    assert again.attempt == 2
    assert (await hand.fail(again)).verdict == "retry"
    ledger = [e["data"]["decision"]["after"] for e in await hand.events(id_) if e["type"] == "step_retry"]
    assert [entry["counted"] for entry in ledger] == [1, 2]


async def test_a_finished_execution_is_run_anew_linked_to_the_first(hand):
    id_ = await waiting_in_b(hand)
    await hand.engine.cancel(id_, actor="ann")
    told = await hand.engine.run_anew(id_, actor="ann", reason="fixed it")
    assert told.created
    [who] = await hand.events_of(told.id, "operator_action")
    assert (who["data"]["actor"], who["data"]["reason"]) == ("ann", "fixed it")
    second = await hand.get(told.id)
    assert (second["retry_of"], second["original_execution"]) == (id_, id_)
    assert (await hand.lease_one()).step == "a"
    await hand.engine.cancel(told.id, actor="ann")
    third = await hand.get((await hand.engine.run_anew(told.id, actor="ann")).id)
    assert (third["retry_of"], third["original_execution"]) == (told.id, id_)


async def test_what_cannot_be_done_says_why(hand):
    with pytest.raises(NotFound, match="no execution 99"):
        await hand.get(99)
    with pytest.raises(NotFound):
        await hand.events(99)
    with pytest.raises(NotFound):
        await hand.retry(99)
    id_ = await hand.submit(CHAIN)
    with pytest.raises(Conflict, match="no step that waits"):
        await hand.retry(id_)
    with pytest.raises(Conflict, match="only a finished one"):
        await hand.engine.run_anew(id_, actor="ann")


async def test_recovery_rebuilds_lost_work_items_from_the_log_and_grants_nothing(hand):
    id_ = await waiting_in_b(hand)
    other = await hand.submit(CHAIN)
    before = await hand.sql(
        "select attempt, ledger, available_at, state from tenax.item where execution_id = $1", id_
    )
    await hand.sql("delete from tenax.item where execution_id = $1", id_)
    await hand.sql("delete from tenax.step where execution_id = $1", id_)
    assert await hand.engine.recover() == [id_]
    assert await hand.engine.recover() == []
    after = await hand.sql(
        "select attempt, ledger, available_at, state from tenax.item where execution_id = $1", id_
    )
    assert [tuple(row) for row in after] == [tuple(row) for row in before]
    assert "execution_activated" in await hand.types(id_)
    assert "execution_activated" not in await hand.types(other)
    await hand.clock.advance(3600)
    for a in await hand.lease():
        await hand.succeed(a)
    for a in await hand.lease():
        await hand.succeed(a)
    assert await hand.status(id_) == "completed"


async def test_recovery_finds_a_lost_branch_beside_one_that_lives(hand):
    fork = """
name: fork
workflow:
  - {step: a, type: python, task: "t:t"}
  - {step: left, type: python, task: "t:t", needs: [a]}
  - {step: right, type: python, task: "t:t", needs: [a]}
  - {step: end, type: python, task: "t:t", needs: [left, right]}
"""
    id_ = await hand.submit(fork)
    await hand.succeed(await hand.lease_one())
    assert await hand.engine.recover() == []
    await hand.sql("delete from tenax.item where step = 'left'")
    assert await hand.engine.recover() == [id_]
    assert await hand.engine.recover() == []
    for _ in range(2):
        for a in await hand.lease():
            await hand.succeed(a)
    assert await hand.status(id_) == "completed"
    assert (await hand.types(id_)).count("action_started") == 4


async def test_a_sweep_goes_on_where_the_last_one_stopped(hand):
    ids = [await hand.submit() for _ in range(450)]
    await hand.sql("delete from tenax.item")
    repaired = [
        *await hand.engine.recover(200),
        *await hand.engine.recover(200),
        *await hand.engine.recover(200),
    ]
    assert sorted(repaired) == ids
    assert len(await hand.lease(slots=1000)) == 450


async def test_recovery_counts_what_was_running_as_lost(hand):
    id_ = await waiting_in_b(hand)
    await hand.pass_time(3600)
    await hand.lease_one("doomed")
    await hand.sql("delete from tenax.item")
    assert await hand.engine.recover() == [id_]
    assert await hand.engine.reap() == 1
    lost = await hand.events_of(id_, "lease_expired")
    assert [e["attempt"] for e in lost] == [2]


async def test_recovery_looks_at_open_executions_only(hand):
    done = await hand.submit()
    await hand.succeed(await hand.lease_one())
    cancelled = await hand.submit()
    await hand.engine.cancel(cancelled, actor="ann")
    assert await hand.engine.recover() == []
    assert (await hand.status(done), await hand.status(cancelled)) == ("completed", "cancelled")
