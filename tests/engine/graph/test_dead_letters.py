"""Each item that fails for good or is quarantined has one dead letter, which is written with the decision and follows the item."""

from __future__ import annotations

from datetime import timedelta

import pytest
from support.compensation_workflows import failed_at_b
from support.fan_out_workflows import by_item, fan, give_up
from support.hand import Hand
from support.laws import verify
from support.letters import exhausted, failed, killed, letter, letters, quarantined, tolerated
from support.worker_lives import PATIENT, arrive, take

from tenax.engine.recover.server_holds import HeldItemReleases

BESIDE_A_WAIT = """
name: two
workflow:
  - {step: a, type: python, task: "t:t", retry: {max_attempts: unlimited, backoff: none}}
  - {step: b, type: wait, signal: go, deadline: 10m, goal: true}
"""


async def lawful(hand: Hand) -> bool:
    assert (await verify(hand))["violations"] == []
    return True


async def test_a_success_leaves_no_letter(hand):
    _, leased = await hand.start()
    await hand.fail(leased)
    await hand.wait(1)
    await hand.succeed(await hand.lease_one())
    assert await letters(hand) == []
    assert await lawful(hand)


async def test_a_failure_that_is_not_retried_leaves_a_letter(hand):
    id_ = await failed(hand)
    found = await letter(hand)
    assert (found["execution_id"], found["workflow"], found["step"], found["item_no"]) == (
        id_,
        "one",
        "only",
        None,
    )
    assert (found["rule"], found["class"], found["message"]) == (
        "class_default",
        "logical",
        "no such order 17",
    )
    assert (found["status"], found["attempts"], found["failed_times"], found["tolerated"]) == (
        "open",
        1,
        1,
        False,
    )
    [ended] = await hand.sql("select finished_at from tenax.execution")
    assert found["first_at"] == found["last_at"] == found["changed_at"] == ended["finished_at"]
    assert await lawful(hand)


async def test_exhausted_attempts_leave_one_letter(hand):
    await exhausted(hand)
    found = await letter(hand)
    assert (found["rule"], found["reason"], found["attempts"]) == ("attempts_exhausted", "http_503", 3)
    assert await lawful(hand)


async def test_a_letter_and_its_decision_are_one_transaction(hand):
    await failed(hand)
    [row] = await hand.sql(
        "select count(distinct x) from (select xmin::text as x from tenax.dead_letter union select xid::text from tenax.event"
        " where type = 'step_failed_terminal') as t"
    )
    assert row["count"] == 1


async def test_a_tolerated_failure_is_marked(hand):
    id_ = await tolerated(hand)
    assert await hand.status(id_) == "completed"
    found = await letter(hand)
    assert (found["step"], found["item_no"], found["tolerated"], found["status"]) == ("each", 1, True, "open")
    assert await lawful(hand)


async def test_items_that_are_cancelled_because_others_failed_have_no_letter(hand):
    await hand.submit(fan(["x", "y", "z"], parallelism=2, retry=False))
    leased = by_item(await hand.lease(slots=2))
    await give_up(hand, leased[0])
    await hand.fail(leased[1], fatal=True, message="too late to matter")
    assert [(one["item_no"], one["tolerated"]) for one in await letters(hand)] == [(0, False)]
    assert await lawful(hand)


async def test_a_cancelled_execution_has_no_letter(hand):
    id_ = await hand.submit()
    await hand.engine.cancel(id_, actor="me")
    assert await letters(hand) == []
    assert await lawful(hand)


async def test_a_step_that_failed_without_an_attempt_has_no_letter(hand):
    id_ = await hand.submit(fan("{{ input.nothing }}", top={"input": {"nothing": {"default": 7}}}))
    assert await hand.status(id_) == "failed"
    assert await letters(hand) == []
    assert await lawful(hand)


async def test_a_failed_compensation_has_a_letter_beside_that_of_the_failure(hand):
    await failed_at_b(hand, "w1")
    await hand.fail(await hand.lease_one(), fatal=True, message="cannot undo")
    assert [(one["step"], one["compensates"], one["status"]) for one in await letters(hand)] == [
        ("a", True, "open"),
        ("b", False, "open"),
    ]
    assert await lawful(hand)


# -- quarantined items


async def test_a_quarantined_item_has_a_letter_at_once(hand):
    await quarantined(hand)
    found = await letter(hand)
    [item] = await hand.sql("select id from tenax.item")
    assert (found["item_id"], found["status"], found["rule"]) == (item["id"], "open", "poison")
    assert (found["class"], found["reason"], found["attempts"]) == (
        "worker_lost",
        "worker_heartbeat_stale",
        3,
    )
    assert await lawful(hand)


async def test_its_letter_follows_it_to_its_success(hand):
    id_ = await quarantined(hand)
    await hand.clock.advance(60)
    await hand.retry(id_)
    assert (await letter(hand))["status"] == "redriven"
    await hand.succeed(await hand.lease_one("good"))
    found = await letter(hand)
    assert (found["status"], found["failed_times"]) == ("recovered", 1)
    assert found["changed_at"] > found["last_at"]
    assert await lawful(hand)


async def test_one_that_is_quarantined_again_is_the_same_letter(hand):
    id_ = await quarantined(hand)
    before = await letter(hand)
    await hand.retry(id_)
    await killed(hand, "a")
    found = await letter(hand)
    assert (found["item_id"], found["status"], found["failed_times"], found["attempts"]) == (
        before["item_id"],
        "open",
        2,
        4,
    )
    assert found["first_at"] == before["first_at"] < found["last_at"]
    assert await lawful(hand)


async def test_one_that_is_released_and_fails_is_the_same_letter(hand):
    id_ = await quarantined(hand)
    await hand.retry(id_)
    await give_up(hand, await take(hand, "good"), "it was the input")
    found = await letter(hand)
    assert (found["status"], found["failed_times"], found["rule"], found["message"]) == (
        "open", 2, "class_default", "it was the input",
    )  # fmt: skip
    assert await lawful(hand)


@pytest.mark.settings(max_hold=600.0)
async def test_one_that_is_held_too_long_is_the_same_letter_and_failed_once(hand):
    await quarantined(hand)
    before = await letter(hand)
    await hand.wait(600)
    found = await letter(hand)
    assert (found["item_id"], found["status"], found["failed_times"]) == (before["item_id"], "open", 1)
    assert (found["rule"], found["reason"]) == ("hold_expired", "hold_expired")
    assert found["last_at"] - found["first_at"] >= timedelta(minutes=10)
    assert await lawful(hand)


async def test_one_that_the_server_releases_is_redriven(hand):
    await quarantined(hand)
    other = await hand.restarted(poison_after=0)
    assert await HeldItemReleases(other.engine.context).release() == 1
    assert (await letter(hand))["status"] == "redriven"
    assert await lawful(hand)


@pytest.mark.parametrize("release", [False, True])
async def test_the_letter_of_a_cancelled_item_is_resolved(hand, release):
    id_ = await quarantined(hand)
    if release:
        await hand.retry(id_)
    await hand.engine.cancel(id_, actor="me")
    assert (await letter(hand))["status"] == "resolved"
    assert await lawful(hand)


async def test_the_letter_of_a_held_item_of_a_failed_execution_is_resolved(hand):
    id_ = await quarantined(hand, BESIDE_A_WAIT)
    assert [(one["step"], one["status"]) for one in await letters(hand)] == [("a", "open")]
    await hand.wait(600)
    assert await hand.status(id_) == "failed"
    assert [(one["step"], one["status"]) for one in await letters(hand)] == [("a", "resolved"), ("b", "open")]
    assert await lawful(hand)


async def test_a_success_whose_letter_must_follow_is_decided_under_lock(hand):
    """The guarded way writes no letters: such a report is left to the locked way, and is applied all the same."""
    await arrive(hand, "good", "a", "b")
    id_ = await hand.submit(PATIENT)
    await killed(hand, "a", "b")
    assert (await hand.succeed(await take(hand, "good"))).status == "applied"
    assert await hand.status(id_) == "completed"
    assert await letters(hand) == []
    assert await lawful(hand)
