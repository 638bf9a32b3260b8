"""Tests which attempts count as lost with their worker.

These are attempts that timed out while it was silent, that an earlier life had and never ended, or that were decided just before it
started again.
"""

from __future__ import annotations

import asyncio

import pytest
from support.compensation_workflows import failed_at_b
from support.fan_out_workflows import fan
from support.hand import Hand
from support.strategies.scheduling import one_step
from support.worker_lives import PATIENT, arrive, crash, fail_often, health, live, new_life, take

from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.json_text import decode
from tenax.model.wire import Assignment, Report
from tenax.store.statements import sql

IN_HASTE = PATIENT.replace("task: some:task", "task: some:task\n    timeout: 10")
"""It is over long before the lease of whoever runs it."""
ASYNC = """
name: calls
workflow:
  - {step: only, type: http, url: "http://callee.test/", async: {deadline: 1h}}
"""


async def told(hand: Hand, worker: str) -> tuple[int, int]:
    """Returns how often the worker was lost, and its failures and losses in a row."""
    one = await hand.engine.worker(worker)
    return one.losses, one.consecutive_failures


async def lost_by(hand: Hand) -> list[tuple[str, list[str]]]:
    """Of each item the state, and the workers that were lost over it."""
    rows = await hand.sql("select state, ledger from tenax.item order by id")
    return [(row["state"], (decode(row["ledger"]) or {}).get("lost_by", [])) for row in rows]


async def accept(hand: Hand, assignment: Assignment) -> None:
    assert (await hand.report(assignment, Outcome("accepted"))).status == "applied"


# -- accepted by a callee


async def test_a_worker_whose_callee_accepts_has_done_its_part(hand):
    hand.engine.context.callback_base = "http://server.test"
    await arrive(hand, "good", "w1")
    await hand.submit(PATIENT)
    await fail_often(hand, "w1", 9)
    await hand.succeed(await take(hand, "good"))
    await hand.submit(ASYNC)
    await accept(hand, await take(hand, "w1"))
    await hand.look()
    assert await told(hand, "w1") == (0, 0)
    assert (await hand.engine.worker("w1")).runs == 10
    assert await health(hand, "w1") == ("healthy", None)


# -- a timeout that is shorter than the lease


async def test_an_item_with_a_short_timeout_that_silences_its_workers_is_quarantined(hand):
    await arrive(hand, "good", "a", "b", "c")
    id_ = await hand.submit(IN_HASTE)
    for silent in ("a", "b", "c"):
        await take(hand, silent)
        await live(hand, 20, *({"good", "a", "b", "c"} - {silent}))
        await live(hand, 1, "good", "a", "b", "c")
    assert await lost_by(hand) == [("held", ["a", "b", "c"])]
    assert (await hand.types(id_))[-3:] == ["action_started", "action_error", "retry_held"]
    failed = (await hand.data_of(id_, "action_error"))[-1]
    assert failed["failure"]["class"] == "timeout", "that is what the attempt came to"
    assert "its worker (c) had fallen silent before" in failed["error"]
    assert [await told(hand, name) for name in ("a", "b", "c")] == [(0, 0)] * 3, "they are pardoned"


async def test_ten_timeouts_on_a_worker_that_died_are_one_loss_and_no_failures(hand):
    await arrive(hand, "good", "w1")
    for _ in range(10):
        await hand.submit(IN_HASTE)
    assert len(await hand.lease("w1")) == 10
    await live(hand, 20, "good")
    assert await told(hand, "w1") == (1, 1)
    assert await lost_by(hand) == [("retrying", ["w1"])] * 10
    assert (await hand.engine.worker("w1")).runs == 1
    assert await health(hand, "w1") == ("healthy", None)


async def test_a_timeout_that_a_live_worker_does_not_report_is_its_failure(hand):
    await arrive(hand, "good", "w1")
    id_ = await hand.submit(IN_HASTE)
    running = await take(hand, "w1")
    await live(hand, 20, "good", "w1", holding=(running,))
    assert await told(hand, "w1") == (0, 1)
    assert await lost_by(hand) == [("retrying", [])]
    [failed] = await hand.data_of(id_, "action_error")
    assert "its worker did not say so" in failed["error"]


async def test_a_timeout_on_a_worker_that_has_started_anew_is_the_loss_that_is_known_already(hand):
    await arrive(hand, "good", "w1")
    await hand.submit(IN_HASTE)
    await crash(hand, "w1")
    await live(hand, 20, "good", "w1")
    assert await lost_by(hand) == [("retrying", ["w1"])]
    assert await told(hand, "w1") == (1, 1)


async def test_nothing_is_said_of_a_worker_that_nobody_knows(hand):
    await hand.submit(IN_HASTE)
    await take(hand, "stranger")
    await live(hand, 20)
    assert await lost_by(hand) == [("retrying", [])]
    assert await hand.sql("select from tenax.worker_loss") == []


# -- an earlier life that ends in good order


@pytest.mark.parametrize("end", [Hand.succeed, Hand.fail, accept, Hand.hand_back])
async def test_what_an_earlier_life_ends_after_all_was_not_lost(hand, end):
    hand.engine.context.callback_base = "http://server.test"
    await arrive(hand, "good", "w1")
    for _ in range(5):
        await hand.submit(ASYNC)
        running = await crash(hand, "w1")
        assert (await hand.engine.worker("w1")).losses == 1, "it is not known yet"
        await end(hand, running)
        await hand.look()
    assert await told(hand, "w1") == (0, 0)
    assert (await hand.engine.worker("w1")).state == "active"
    assert await hand.sql("select from tenax.worker_loss") == []


async def test_what_it_does_not_end_was_lost(hand):
    await arrive(hand, "good", "w1")
    for _ in range(3):
        await hand.submit(PATIENT)
    first, second, never = await hand.lease("w1")
    await hand.clock.advance(1)
    await arrive(hand, "w1")
    await hand.succeed(first)
    await hand.look()
    await hand.succeed(second)
    await hand.look()
    [row] = await hand.sql("select items from tenax.worker_loss")
    assert row["items"] == [never.item_id]
    assert (await told(hand, "w1"))[0] == 1


async def test_a_later_attempt_does_not_take_back_an_earlier_loss(hand):
    await arrive(hand, "w1")
    await hand.submit(PATIENT)
    lost = await crash(hand, "w1")
    await live(hand, 30, "w1")
    again = await take(hand, "w1")
    assert (again.item_id, again.attempt) == (lost.item_id, 2)
    await hand.succeed(again)
    await hand.look()
    assert await told(hand, "w1") == (1, 0)


# -- decided on, and then the worker starts anew before the server has told the database


async def lost_and_back(hand: Hand, *, version: str | None = None) -> None:
    """It loses two items, a second after each other, and is back before anyone has looked."""
    await hand.submit(PATIENT)
    await take(hand, "w1")
    await hand.clock.advance(1)
    await hand.submit(PATIENT)
    await take(hand, "w1")
    await hand.wait(30)
    await hand.wait(2)
    assert {state for state, _ in await lost_by(hand)} == {"retrying"}
    await hand.register("w1", life=new_life(), version=version)
    await hand.look()


async def test_a_loss_decided_on_just_before_the_next_life_counts_once(hand):
    await arrive(hand, "good", "w1")
    await lost_and_back(hand)
    assert await told(hand, "w1") == (1, 1)


async def test_a_loss_decided_on_just_before_another_version_is_not_held_against_it(hand):
    await arrive(hand, "good", "w1")
    await lost_and_back(hand, version="2")
    assert await told(hand, "w1") == (0, 0)


# -- rows that recovery rebuilds


async def suspects(hand: Hand) -> list[bool]:
    return [row["suspect"] for row in await hand.sql("select suspect from tenax.item order by id")]


async def cost_them(hand: Hand, *workers: str) -> None:
    for worker in workers:
        await crash(hand, worker)
        await live(hand, 30, "good", "a", "b")


@pytest.mark.parametrize(
    "source", [PATIENT, fan(["x"], retry={"max_attempts": "unlimited", "backoff": "none"})]
)
async def test_a_lost_row_of_a_suspect_comes_back_as_one(hand, source):
    await arrive(hand, "good", "a", "b")
    id_ = await hand.submit(source)
    await cost_them(hand, "a")
    assert await suspects(hand) == [False]
    await hand.sql("delete from tenax.item")
    await hand.engine.sweep()
    assert await suspects(hand) == [False]
    await cost_them(hand, "b")
    assert await suspects(hand) == [True]
    await hand.sql("delete from tenax.item")
    await hand.engine.sweep()
    assert await suspects(hand) == [True]
    assert (await take(hand, "good")).execution_id == id_


async def test_a_lost_row_of_a_suspect_compensation_comes_back_as_one(hand):
    await arrive(hand, "good", "a", "b")
    await failed_at_b(hand, "good")
    await cost_them(hand, "a", "b")
    assert await suspects(hand) == [True]
    await hand.sql("delete from tenax.item")
    await hand.engine.sweep()
    assert await suspects(hand) == [True]


# -- locks


async def test_a_late_report_beside_one_under_a_limit_does_not_clash_with_a_claim(hand):
    limited = one_step(concurrency=2)
    await hand.submit(limited)
    late = await take(hand, "w1")
    await hand.pass_time(30)
    await hand.settle_down()  # it is due again, and any claim may look at it
    await hand.submit(limited)
    current = await take(hand, "w1")
    assert current.item_id != late.item_id
    async with hand.engine.context.transaction() as claim:  # as claims lock: items, then the count of limits
        await claim.execute("select from tenax.item where id = $1 for update", late.item_id)
        reporting = asyncio.create_task(hand.engine.report([_report(current), _report(late)]))
        while not await waits_for_a_lock(hand):
            assert not reporting.done(), await reporting
        await claim.execute(sql("lock_limits"))
    assert [answer.status for answer in await reporting] == ["applied", "late"]


def _report(a: Assignment) -> Report:
    outcome = Outcome("failed", facts=Facts(status_code=503))
    return Report(a.execution_id, a.item_id, a.attempt, a.token, outcome, a.step, a.item)


async def waits_for_a_lock(hand: Hand) -> bool:
    return bool(
        await hand.sql(
            "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
        )
    )
