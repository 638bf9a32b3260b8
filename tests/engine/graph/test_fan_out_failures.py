"""Tests which failures a fan-out tolerates, and what happens to its other items."""

from __future__ import annotations

import pytest
from support.fan_out_workflows import RETRY, by_item, counts, each_of, fan, give_up, told_of

from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.wire import Report


@pytest.mark.parametrize(
    ("tolerate", "total", "allowed"),
    [(0, 4, 0), (1, 4, 1), (9, 4, 4), ("50%", 4, 2), ("49%", 4, 1), ("0%", 4, 0), ("100%", 3, 3)],
)
async def test_as_many_may_fail_as_are_tolerated(hand, tolerate, total, allowed):
    source = fan(list(range(total)), tolerate=tolerate, parallelism=total)
    id_ = await hand.submit(source)
    leased = by_item(await hand.lease())
    for n in range(total):
        await (give_up(hand, leased[n]) if n < allowed else hand.succeed(leased[n], n))
    execution = await hand.get(id_)
    assert execution["status"] == "completed"
    assert execution["result"]["each"] == [None] * allowed + list(range(allowed, total))
    assert [f["item"] for f in execution["steps"]["each"]["failures"]] == list(range(allowed))
    if allowed == total:
        return
    id_ = await hand.submit(source)
    leased = by_item(await hand.lease())
    for n in range(allowed + 1):
        await give_up(hand, leased[n])
    assert await hand.status(id_) == "failed"


async def test_beyond_it_the_step_fails_at_once_and_what_runs_is_recorded(hand):
    after = {"step": "after", "needs": ["each"]}
    id_ = await hand.submit(fan(list(range(9)), after, parallelism=4, tolerate=1, retry=RETRY))
    leased = by_item(await hand.lease())
    await hand.fail(leased[0])
    await give_up(hand, leased[1])
    await give_up(hand, leased[2], "the second")
    execution = await hand.get(id_)
    each = execution["steps"]["each"]
    assert (execution["status"], each["status"]) == ("failed", "failed")
    assert each["failure"]["message"] == "2 of 9 items failed, 1 tolerated; the last: the second"
    assert execution["failure"]["step"] == "each"
    assert execution["steps"]["after"]["status"] == "unreachable"
    cancelled = await hand.events_of(id_, "item_cancelled")
    assert [(e["item"], e["data"]["was"]) for e in cancelled] == [
        (0, "retrying"),
        (4, "queued"),
        (5, "queued"),
        (None, "waiting"),
    ]
    assert cancelled[-1]["data"] == {"was": "waiting", "count": 3, "items": [[6, 8]]}
    assert await hand.lease() == []
    assert await counts(hand, id_) == {"total": 9, "running": 1, "failed": 2, "cancelled": 6}
    assert (await hand.succeed(leased[3], "made it")).verdict == "stop"
    assert await counts(hand, id_) == {"total": 9, "succeeded": 1, "failed": 2, "cancelled": 6}
    assert (await told_of(hand, id_, 3))[-1] == ("item_completed", None)
    listed = {i.item: (i.status, i.result) for i in await hand.engine.items(id_, "each")}
    over = {1: ("failed", None), 2: ("failed", None), 3: ("succeeded", "made it")}
    assert listed == {**dict.fromkeys(range(9), ("cancelled", None)), **over}
    assert await hand.sql("select from tenax.item") == []


async def test_what_runs_when_the_step_has_failed_is_not_retried_and_not_late(hand):
    id_ = await hand.submit(fan([0, 1, 2], parallelism=3, retry=RETRY))
    leased = by_item(await hand.lease())
    await give_up(hand, leased[0])
    answer = await hand.fail(leased[1])
    assert (answer.status, answer.verdict) == ("applied", "stop")
    await hand.pass_time(31)
    await hand.engine.reap()
    assert (await hand.succeed(leased[2])).status == "late", "its lease was over"
    types = await hand.types(id_)
    assert types.count("item_failed") == 3
    assert types[-1] == "late_result"
    assert await hand.sql("select from tenax.item") == []


async def test_later_steps_see_results_and_failures(hand):
    after = {
        "step": "after",
        "needs": ["each"],
        "when": "{{ steps.each.failures | length == 1 }}",
        "args": {
            "all": "{{ steps.each.result }}",
            "failed": "{{ steps.each.failures }}",
            "why": "{{ steps.each.failures[0].message }}",
            "status": "{{ steps.each.status }}",
        },
    }
    await hand.submit(fan([0, 1, 2], after, parallelism=3, tolerate=1))
    leased = by_item(await hand.lease())
    await hand.succeed(leased[2], {"n": 2})
    await give_up(hand, leased[1], "broken")
    await hand.succeed(leased[0], None)
    seen = (await hand.lease_one()).spec["args"]
    assert seen["all"] == [None, None, {"n": 2}]
    [failed] = seen["failed"]
    assert {name: failed[name] for name in ("item", "class", "message", "attempts")} == {
        "item": 1,
        "class": "logical",
        "message": "broken",
        "attempts": 1,
    }
    assert (seen["why"], seen["status"]) == ("broken", "completed")


async def test_two_fan_outs_that_end_in_one_batch(hand):
    other = {"step": "other", "for_each": [1, 2], "parallelism": 2}
    id_ = await hand.submit(fan([1], other))
    reports = []
    for a in await hand.lease():
        outcome = (
            Outcome("succeeded")
            if a.step == "each"
            else Outcome("failed", facts=Facts(fatal=True, message="no"))
        )
        reports.append(Report(a.execution_id, a.item_id, a.attempt, a.token, outcome, a.step))
    answers = await hand.engine.report(sorted(reports, key=lambda r: str(r.step)))
    assert [answer.verdict for answer in answers] == ["complete", "fail", "fail"]
    execution = await hand.get(id_)
    assert {name: s["status"] for name, s in execution["steps"].items()} == {
        "each": "completed",
        "other": "failed",
    }


async def test_a_fan_out_whose_last_items_end_after_the_execution_has_ended_too(hand):
    id_ = await hand.submit(fan([0, 1], {"step": "beside"}, parallelism=2))
    leased = {(a.step, a.item): a for a in await hand.lease()}
    await give_up(hand, leased["beside", None])
    assert (await each_of(hand, id_))["status"] == "running"
    await give_up(hand, leased["each", 0])
    await hand.succeed(leased["each", 1])
    each = await each_of(hand, id_)
    assert each["status"] == "failed"
    assert each["failure"]["message"] == "1 of 2 items failed; the last: no"
    assert (await hand.types(id_))[-1] == "step_failed_terminal"


async def test_a_fan_out_that_begins_as_the_execution_fails_leaves_nothing(hand):
    doomed = {"step": "doomed", "when": "{{ input.x > 'y' + 1 }}"}
    top = {"input": {"x": {"type": "integer", "default": 1}}}
    id_ = await hand.submit(fan([0, 1, 2], doomed, top=top, parallelism=2))
    execution = await hand.get(id_)
    assert (execution["status"], execution["failure"]["step"]) == ("failed", "doomed")
    assert execution["steps"]["each"]["status"] == "cancelled"
    assert await counts(hand, id_) == {"total": 3, "cancelled": 3}
    assert await told_of(hand, id_, None) == [("step_enqueued", None), ("item_cancelled", None)]
    assert await hand.lease() == []
    assert await hand.sql("select from tenax.item") == []
    assert await hand.sql("select from tenax.fan") == []
