"""The views of schema `ops` say what the events say, for every way in which an attempt ends."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec import to_builtins
from support.hand import ONE_STEP, Hand, one_postgres
from support.letters import exhausted, failed, quarantined, tolerated

from tenax.engine.metrics.roll_up import RollUp
from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.events import timestamp
from tenax.model.filters.letters import LetterFilter

TWO_ITEMS = """
name: two
workflow:
  - step: each
    type: python
    task: some:task
    for_each: [a, b]
    parallelism: 2
    tolerate: 1
    retry: {max_attempts: 2, initial_delay: 3, jitter: 0}
"""
UNDONE = """
name: undone
workflow:
  - {step: a, type: python, task: "some:task", compensate: {type: python, task: "some:undo"}}
  - {step: b, type: python, task: "some:task", needs: [a]}
"""


async def rows(hand: Hand, view: str, execution_id: int, order: str = "id") -> list[dict[str, Any]]:
    found = await hand.sql(f"select * from ops.{view} where execution_id = $1 order by {order}", execution_id)
    return [dict(row) for row in found]


async def outcomes(hand: Hand, execution_id: int) -> list[tuple[Any, ...]]:
    found = await rows(hand, "attempts", execution_id)
    return [(row["attempt"], row["outcome"], row["class"], row["verdict"], row["counted"]) for row in found]


@one_postgres
async def test_the_events_are_those_of_the_api(hand):
    execution_id, attempt = await hand.start()
    await hand.fail(attempt)
    await hand.wait(1)
    await hand.succeed(await hand.lease_one(), {"x": 1})
    shown, found = await hand.events(execution_id), await rows(hand, "events", execution_id)
    assert [(row["id"], row["type"], row["step"], row["attempt"]) for row in found] == [
        (event["id"], event["type"], event["step"], event["attempt"]) for event in shown
    ]
    assert [row["status"] for row in found] == [
        "STARTED", "PENDING", "STARTED", "FAILED", "PENDING", "STARTED", "COMPLETED", "COMPLETED", "COMPLETED",
    ]  # fmt: skip
    assert [row["error"] for row in found if row["error"]] == ["503 Service Unavailable"] * 2
    assert [row["result"] for row in found if row["result"]] == ['{"x": 1}']


@one_postgres
async def test_attempts_end_in_many_ways(hand):
    execution_id, attempt = await hand.start(ONE_STEP.replace("max_attempts: 3", "max_attempts: 4"))
    assert await outcomes(hand, execution_id) == [(1, "running", None, None, None)]
    await hand.fail(attempt)
    await hand.wait(1)
    await hand.hand_back(await hand.lease_one())
    await hand.report(await hand.lease_one(), Outcome("snoozed", after=5))
    await hand.wait(5)
    await hand.report(await hand.lease_one(), Outcome("not_completed", facts=Facts(message="more")))
    await hand.wait(5)
    await hand.lease_one("w9")
    await hand.wait(hand.engine.context.settings.lease + 1)
    await hand.wait(10)
    await hand.lease_one()
    await hand.engine.cancel(execution_id, actor="me")
    assert [one[:3] for one in await outcomes(hand, execution_id)] == [
        (1, "failed", "transient"),
        (2, "released", None),
        (3, "snoozed", None),
        (4, "not_completed", "transient"),
        (5, "failed", "worker_lost"),
        (6, "cancelled", None),
    ]
    told = await rows(hand, "execution", execution_id)
    assert [row["retry_reason"] for row in told] == [
        None, "transient_error", "released", "snoozed", "transient_error", "worker_heartbeat_stale",
    ]  # fmt: skip
    assert [row["status"] for row in told] == [
        "failed",
        "abandoned",
        "snoozed",
        "failed",
        "failed",
        "cancelled",
    ]


@one_postgres
async def test_a_failure_stays_one_if_its_item_is_cancelled_before_the_retry(hand):
    execution_id, attempt = await hand.start()
    await hand.fail(attempt)
    await hand.engine.cancel(execution_id, actor="me")
    assert await outcomes(hand, execution_id) == [(1, "failed", "transient", "retry", 1)]
    [row] = await rows(hand, "execution", execution_id)
    assert row["status"] == "failed"
    # The same of a compensation.
    execution_id, attempt = await hand.start(UNDONE.replace('"some:undo"', '"some:undo", retry: 3'))
    await hand.succeed(attempt)
    await hand.fail(await hand.lease_one(), fatal=True, message="no")
    await hand.settle_down()
    await hand.fail(await hand.lease_one())
    await hand.engine.cancel(execution_id, actor="me")
    assert [one[1] for one in await outcomes(hand, execution_id)] == ["succeeded", "failed", "failed"]


@one_postgres
async def test_an_item_that_is_not_leased_in_time_has_an_attempt(hand):
    await hand.register("w1")
    execution_id = await hand.submit(
        ONE_STEP.replace("task: some:task", "task: some:task\n    queue_ttl: 5s")
    )
    await hand.wait(6)
    [(number, outcome, class_, verdict, _)] = await outcomes(hand, execution_id)
    assert (number, outcome, class_, verdict) == (1, "failed", "queue_timeout", "retry")
    await hand.wait(1)
    await hand.lease_one()
    first, second = await rows(hand, "execution", execution_id)
    assert (second["retry_reason"], second["original_execution"]) == ("queue_timeout", first["id"])


@one_postgres
async def test_compensations_are_attempts_of_their_own(hand):
    execution_id, attempt = await hand.start(UNDONE)
    await hand.succeed(attempt)
    await hand.fail(await hand.lease_one(), fatal=True, message="no")
    await hand.settle_down()
    await hand.succeed(await hand.lease_one())
    found = await rows(hand, "attempts", execution_id)
    assert [(row["step"], row["compensates"], row["attempt"], row["outcome"]) for row in found] == [
        ("a", False, 1, "succeeded"),
        ("b", False, 1, "failed"),
        ("a", True, 1, "succeeded"),
    ]
    assert [row["original_execution"] for row in await rows(hand, "execution", execution_id)] == [None] * 3


@one_postgres
async def test_the_queue_has_live_items_and_dead_ones(hand):
    execution_id = await hand.submit(TWO_ITEMS)
    for each in await hand.lease():
        await hand.fail(each)
    now = await hand.clock.now()
    for row in await rows(hand, "queue", execution_id, "item"):
        assert (row["status"], row["state"], row["attempts"], row["max_attempts"]) == (
            "queued",
            "retrying",
            1,
            2,
        )
        assert (row["available_at"], row["retry_delay_seconds"]) == (now + timedelta(seconds=3), 3)
        assert (row["last_error"], row["node_id"], row["worker"]) == ("503 Service Unavailable", "each", None)
        assert '"max_attempts": 2' in row["retry_config"]
    await hand.wait(3)
    first, second = sorted(await hand.lease(), key=lambda one: one.item or 0)
    leased = (await rows(hand, "queue", execution_id, "item"))[0]
    assert (leased["status"], leased["lease_until"]) == ("leased", await lease_end(hand))
    await hand.fail(first)
    dead = next(row for row in await rows(hand, "queue", execution_id) if row["status"] == "dead")
    [letter] = await rows(hand, "dead_letters", execution_id)
    assert (dead["item"], dead["attempts"], dead["attempt"], dead["max_attempts"], dead["id"]) == (0, 2, 2, 2, letter["id"])  # fmt: skip
    assert (dead["last_error"], dead["workflow"]) == ("503 Service Unavailable", "two")
    await hand.succeed(second)
    assert [row["status"] for row in await rows(hand, "queue", execution_id)] == ["dead"]


@one_postgres
async def test_an_item_that_is_started_again_is_no_longer_dead(hand):
    execution_id = await exhausted(hand)
    [dead] = await rows(hand, "queue", execution_id)
    assert (dead["status"], dead["attempts"], dead["updated_at"]) == ("dead", 3, await hand.clock.now())
    await hand.retry(execution_id)
    [live] = await rows(hand, "queue", execution_id)
    assert (live["status"], live["attempts"], live["attempt"], live["worker"]) == ("queued", 3, 3, None)
    await hand.fail(await hand.lease_one())
    [dead] = await rows(hand, "queue", execution_id)
    assert (dead["status"], dead["attempts"], dead["attempt"], dead["max_attempts"]) == ("dead", 4, 4, 3)
    assert '"max_attempts": 3' in dead["retry_config"]
    [letter] = await rows(hand, "dead_letters", execution_id)
    assert (letter["status"], letter["failed_times"], letter["attempts"], letter["class"]) == (
        "open",
        2,
        4,
        "transient",
    )
    await hand.retry(execution_id)
    await hand.succeed(await hand.lease_one())
    assert await rows(hand, "queue", execution_id) == []
    [letter] = await rows(hand, "dead_letters", execution_id)
    assert letter["status"] == "recovered"
    told = [(row["retry_reason"], row["status"]) for row in await rows(hand, "execution", execution_id)]
    by_itself = [(None, "failed"), ("transient_error", "failed"), ("transient_error", "failed")]
    assert told == [*by_itself, ("manual_retry", "failed"), ("manual_retry", "completed")]


@one_postgres
async def test_a_quarantined_item_is_held_and_has_a_letter(hand):
    execution_id = await quarantined(hand)
    assert [row["status"] for row in await rows(hand, "queue", execution_id)] == ["held"]
    [letter] = await rows(hand, "dead_letters", execution_id)
    assert (letter["status"], letter["rule"]) == ("open", "poison")


@one_postgres
async def test_the_dead_letters_are_those_of_the_api(hand):
    await exhausted(hand)
    await failed(hand)
    await tolerated(hand)
    discarded = await failed(hand)
    await hand.engine.letters.discard_matching(
        LetterFilter(execution_id=discarded), note="a test", actor="me"
    )
    found = [
        dict(row) for row in await hand.sql("select * from ops.dead_letters order by last_at desc, id desc")
    ]
    shown = [
        to_builtins(one)
        for one in await hand.engine.letters.list(LetterFilter(statuses=("open", "discarded")))
    ]
    assert len(found) == len(shown) == 4
    for row, one in zip(found, shown, strict=True):
        own = {"error": one.pop("message"), "compensates": one.pop("compensation"), **one}
        assert {
            name: timestamp(value) if name.endswith("_at") else value for name, value in row.items()
        } == own


@one_postgres
async def test_the_queue_has_the_policy_that_an_operator_gave(hand):
    execution_id, attempt = await hand.start()
    await hand.fail(attempt)
    await hand.act(execution_id, "reschedule", policy={"max_attempts": 9})
    [row] = await rows(hand, "queue", execution_id)
    assert '"max_attempts": 9' in row["retry_config"]
    assert row["max_attempts"] == 9


async def lease_end(hand: Hand) -> Any:
    return await hand.clock.now() + timedelta(seconds=hand.engine.context.settings.lease)


@one_postgres
async def test_the_sums_are_those_of_the_events(hand):
    first, attempt = await hand.start()
    await hand.fail(attempt)
    await hand.wait(1)
    await hand.succeed(await hand.lease_one())
    await hand.pass_time(120)
    second = await hand.submit(TWO_ITEMS)
    for _ in range(2):
        for each in await hand.lease():
            await (hand.fail(each) if each.item == 0 else hand.succeed(each))
        await hand.wait(3)
    await RollUp(hand.engine.context).catch_up()
    events = [event for one in (first, second) for event in await hand.events(one)]
    ends = [event for event in events if event["type"] in ("action_completed", "action_error")]
    for given, condition in ((None, "class is null"), ("http_503", "reason = 'http_503'")):
        [row] = await hand.sql(
            f"select sum(attempts) as attempts, sum(first_attempts) as first, sum(retries) as retries, sum(retried) as retried,"
            f" sum(failed) as failed, count(distinct minute) as minutes from ops.retry_stats where {condition}"
        )
        mine = [event for event in ends if event["data"].get("failure", {}).get("reason") == given]
        assert row["attempts"] == len(mine) == row["first"] + row["retries"]
        assert row["first"] == sum(event["attempt"] == 1 for event in mine)
        retried = sum(event["type"] == "step_retry" for event in events)
        assert (row["retried"], row["failed"]) == ((retried, 1) if given else (0, 0))
        assert row["minutes"] == len({event["at"][:16] for event in mine}) >= 2


@one_postgres
async def test_a_manual_retry_is_an_execution_that_names_the_first(hand):
    first, attempt = await hand.start()
    await hand.fail(attempt, fatal=True, message="no")
    again = await hand.engine.run_anew(first, actor="me")
    await hand.succeed(await hand.lease_one())
    [row] = await rows(hand, "retry_chain", again.id)
    assert (row["retry_of_execution"], row["original_of_executions"], row["retry_reason"]) == (
        first,
        first,
        "manual_retry",
    )
    [row] = await rows(hand, "execution", again.id)
    assert (row["retry_count"], row["original_execution"]) == (0, None)


@one_postgres
@pytest.mark.settings(callback_url="http://tenax.test")
async def test_a_success_of_an_earlier_attempt_ends_the_later_one(hand):
    """The callee of an async step calls back for its first attempt while the second one runs."""
    source = ONE_STEP.replace(
        "type: python\n    task: some:task", "type: http\n    url: http://x\n    async: {deadline: 1h}"
    )
    execution_id, first = await hand.start(source)
    await hand.report(first, Outcome("accepted", {"status_code": 202}))
    failed = Outcome("failed", facts=Facts(status_code=503, message="the queue is full"))
    await hand.engine.callback(execution_id, first.item_id, 1, first.receipt, failed)
    await hand.wait(1)
    second = await hand.lease_one()
    await hand.engine.callback(execution_id, first.item_id, 1, first.receipt, Outcome("succeeded", 1))
    assert second.attempt == 2
    assert [one[:2] for one in await outcomes(hand, execution_id)] == [(1, "succeeded"), (2, "cancelled")]
