"""What the short way of a failure that is retried leaves alone, or is turned away from: nothing is lost, and nothing is doubled."""

from __future__ import annotations

from collections import Counter

import pytest
from finishing import chain, failure, left_behind, retried, success
from hand import Hand

from tenax.engine.leased import Leased
from tenax.model.durations import format_duration
from tenax.model.outcome import Facts, Outcome, Usage
from tenax.model.wire import Report

RETRY = "retry: {max_attempts: 3, initial_delay: 5s, jitter: 0}"
BRANCHES = f"""
name: branches
workflow:
  - {{step: a, type: python, task: "t:t", {RETRY}}}
  - {{step: b, type: python, task: "t:t", {RETRY}}}
"""
AGAIN, LATE = ("applied", "retry"), ("late", None)


async def refused(hand: Hand, id_: int, *reports: Report) -> None:
    """The short way takes none of them, and changes nothing."""
    before = await left_behind(hand, id_)
    assert await retried(hand, *reports) == set()
    assert await left_behind(hand, id_) == before


async def answered(hand: Hand, *reports: Report) -> list[tuple[str, str | None]]:
    return [(answer.status, answer.verdict) for answer in await hand.engine.report(reports)]


async def test_a_plain_retry_goes_the_short_way_and_starts_when_it_is_due(hand):
    id_ = await hand.submit(chain(2, RETRY))
    a = await hand.lease_one()
    assert await retried(hand, failure(a)) == {a.item_id}
    assert await hand.lease() == []
    await hand.clock.advance(5)
    again = await hand.lease_one()
    assert (again.item_id, again.attempt, again.is_retry) == (a.item_id, 2, True)
    assert (await hand.types(id_))[2:] == ["action_started", "action_error", "step_retry", "action_started"]


async def test_a_cancelled_execution_hears_it_late(hand):
    id_ = await hand.submit(chain(2, RETRY))
    a = await hand.lease_one()
    await hand.engine.cancel(id_, actor="ann")
    await refused(hand, id_, failure(a))
    assert await answered(hand, failure(a)) == [LATE]
    assert (await hand.types(id_))[-1] == "late_result"
    assert await hand.sql("select from tenax.item") == []


async def test_a_paused_execution_waits_with_its_retry(hand):
    id_ = await hand.submit(chain(2, RETRY))
    a = await hand.lease_one()
    await hand.engine.pause(id_, actor="ann")
    await refused(hand, id_, failure(a))
    assert await answered(hand, failure(a)) == [AGAIN]
    await hand.clock.advance(10)
    assert await hand.lease() == []
    await hand.engine.resume(id_, actor="ann")
    assert (await hand.lease_one()).attempt == 2


async def test_an_execution_that_someone_else_is_changing_is_not_waited_for(hand):
    theirs, mine = await hand.submit(chain(2, RETRY)), await hand.submit(chain(2, RETRY))
    leased = {a.execution_id: a for a in await hand.lease()}
    told = [failure(leased[theirs]), failure(leased[mine])]
    async with hand.engine.core.transaction() as tx:
        await tx.fetch("select from tenax.execution where id = $1 for update", theirs)
        assert await retried(hand, *told) == {leased[mine].item_id}
    assert await answered(hand, *told) == [AGAIN, AGAIN]
    for id_ in (theirs, mine):
        counts = Counter(await hand.types(id_))
        assert (counts["action_error"], counts["step_retry"]) == (1, 1)


async def test_a_lease_that_ran_out_and_was_given_anew(hand):
    id_ = await hand.submit(chain(2, RETRY))
    old = await hand.lease_one("frozen")
    await hand.pass_time(30)
    assert await hand.engine.reap() == 1
    await hand.clock.advance(5)
    new = await hand.lease_one("fresh")
    assert new.item_id == old.item_id
    await refused(hand, id_, failure(old))
    assert await answered(hand, failure(old), failure(new)) == [LATE, AGAIN]
    counts = Counter(await hand.types(id_))
    assert (counts["late_result"], counts["action_error"], counts["step_retry"]) == (1, 1, 2)


async def test_the_same_report_twice(hand):
    id_ = await hand.submit(chain(2, RETRY))
    a = await hand.lease_one()
    assert await answered(hand, failure(a), failure(a)) == [AGAIN, AGAIN]
    once = await left_behind(hand, id_)
    assert await answered(hand, failure(a), failure(a)) == [AGAIN, AGAIN]
    assert await left_behind(hand, id_) == once
    await hand.clock.advance(5)
    b = await hand.lease_one()
    assert await answered(hand, failure(a), success(b)) == [AGAIN, ("applied", "complete")]
    counts = Counter(await hand.types(id_))
    assert (counts["action_error"], counts["step_retry"], counts["action_completed"]) == (1, 1, 1)


async def test_two_items_of_one_execution(hand):
    id_ = await hand.submit(BRANCHES)
    both = await hand.lease()
    assert await answered(hand, *map(failure, both)) == [AGAIN, AGAIN]
    await hand.clock.advance(5)
    first, second = await hand.lease()
    assert await answered(hand, failure(first), success(second)) == [AGAIN, ("applied", "complete")]
    await hand.clock.advance(10)
    assert await answered(hand, success(await hand.lease_one())) == [("applied", "complete")]
    assert await hand.status(id_) == "completed"
    counts = Counter(await hand.types(id_))
    assert (counts["action_error"], counts["step_retry"], counts["action_completed"]) == (3, 3, 2)


@pytest.mark.parametrize(
    ("more", "facts"),
    [
        ("retry: false", {}),
        (RETRY, {"status_code": 404}),
        (RETRY, {"fatal": True}),
        (RETRY, {"failure_class": "logical"}),
        ("concurrency: {limit: 1}, " + RETRY, {}),
    ],
)
async def test_what_is_no_plain_retry_is_decided_in_full(hand, more, facts):
    id_ = await hand.submit(chain(2, more))
    a = await hand.lease_one()
    await refused(hand, id_, failure(a, **facts))
    [(status, _)] = await answered(hand, failure(a, **facts))
    assert status == "applied"
    assert (await hand.types(id_)).count("action_error") == 1


async def test_a_retry_that_used_something_up_says_so(hand):
    id_ = await hand.submit(chain(2, RETRY))
    a = await hand.lease_one()
    told = failure(a)
    outcome = type(told.outcome)("failed", facts=told.outcome.facts, usage=Usage(tokens=7))
    used = Report(a.execution_id, a.item_id, a.attempt, a.token, outcome, a.step)
    assert await answered(hand, used) == [AGAIN]
    [data] = [e["data"] for e in await hand.engine.events(id_) if e["type"] == "action_error"]
    assert data["usage"] == {"cost_usd": None, "tokens": 7}


@pytest.mark.parametrize("is_short", [True, False])
async def test_a_message_that_postgresql_cannot_hold_is_kept_as_far_as_it_can_be(hand, is_short):
    id_ = await hand.submit(chain(1, RETRY))
    a = await hand.lease_one()
    if not is_short:
        hand.engine.core.leased = Leased()
    told = Outcome("failed", facts=Facts(message="a\x00b \ud800 \u00e9"))
    assert await answered(hand, Report(id_, a.item_id, a.attempt, a.token, told)) == [AGAIN]
    [error] = await hand.sql("select last_error from tenax.item")
    assert error["last_error"] == "a\ufffdb ? \u00e9"


async def test_each_failure_of_a_batch_has_a_roll_of_its_own(hand):
    ids = [await hand.submit(chain(1, "retry: {max_attempts: 3, initial_delay: 5s}")) for _ in range(6)]
    leased = await hand.lease()
    told = [failure(a, traceback="Traceback ...") for a in leased]
    rows = hand.engine.core.roll
    drawn = iter([0.0, 0.25, 0.5, 0.75, 0.9, 0.1])
    hand.engine.core.roll = lambda: next(drawn)
    assert await retried(hand, *told) == {a.item_id for a in leased}
    hand.engine.core.roll = rows
    delays = []
    for id_ in ids:
        [explained] = await hand.engine.explain(id_)
        waits = (await hand.engine.events(id_))[-1]["data"]
        assert waits["decision"]["roll"] == waits["decision"]["delay"]["roll"]
        assert waits["delay_seconds"] == waits["decision"]["delay"]["delay"]
        assert f"retried in {format_duration(waits['delay_seconds'])} (" in explained["decision"]["reason"]
        delays.append(waits["delay_seconds"])
    assert sorted(delays) == [4.0, 4.2, 4.5, 5.0, 5.5, 5.8]
    [[kept]] = await hand.sql(
        "select array_agg(extract(epoch from available_at - created_at)::float8 order by 1) from tenax.item"
    )
    assert [round(seconds, 6) for seconds in sorted(kept)] == sorted(delays)
