"""Tests fan-outs: their lists, the order of their results, their slots, and the events of each item."""

from __future__ import annotations

import pytest
from support.fan_out_workflows import RETRY, by_item, counts, each_of, fan, give_up, numbers, placed, told_of

from tenax.errors import Conflict, NotFound
from tenax.model.attempt.outcome import Outcome
from tenax.model.wire import Report


async def test_results_keep_the_order_of_the_list(hand):
    id_ = await hand.submit(fan(["a", "b", {"c": [1]}, None], parallelism=4))
    leased = by_item(await hand.lease())
    assert [leased[n].spec["args"] for n in range(4)] == [
        {"x": "a", "at": 0},
        {"x": "b", "at": 1},
        {"x": {"c": [1]}, "at": 2},
        {"x": None, "at": 3},
    ]
    for n in (2, 0, 3, 1):
        await hand.succeed(leased[n], f"result {n}")
    execution = await hand.get(id_)
    assert execution["status"] == "completed"
    assert execution["result"] == {"each": ["result 0", "result 1", "result 2", "result 3"]}
    assert execution["steps"]["each"]["result"] == execution["result"]["each"]


async def test_never_more_at_once_than_there_are_places(hand):
    id_ = await hand.submit(fan(list(range(8)), parallelism=3))
    held = await hand.lease(slots=20)
    assert numbers(held) == [0, 1, 2]
    started = 3
    while held:
        assert await hand.lease(slots=20) == []
        assert await placed(hand) == (len(held), len(held))
        await hand.succeed(held.pop(0))
        fresh = await hand.lease(slots=20)
        assert numbers(fresh) == ([started] if started < 8 else []), "in the order of the list"
        started += len(fresh)
        held += fresh
    assert await hand.status(id_) == "completed"


async def test_by_default_one_after_the_other(hand):
    await hand.submit(fan([1, 2, 3]))
    for n in range(3):
        one = await hand.lease_one()
        assert one.item == n
        await hand.succeed(one)


async def test_a_waiting_retry_frees_its_place_and_has_one_before_new_items_when_it_is_due(hand):
    id_ = await hand.submit(fan([0, 1, 2], retry=RETRY))
    await hand.fail(await hand.lease_one())
    second = await hand.lease_one()
    assert second.item == 1, "its place is free while it waits"
    assert await counts(hand, id_) == {"total": 3, "retrying": 1, "running": 1, "waiting": 1}
    await hand.clock.advance(1)
    await hand.settle_down()
    assert await hand.lease() == [], "it is due, but the only place is taken"
    await hand.succeed(second)
    again = await hand.lease_one()
    assert (again.item, again.attempt, again.is_retry) == (0, 2, True)
    await hand.succeed(again)
    assert (await hand.lease_one()).item == 2


async def test_a_due_retry_takes_a_place_that_is_free(hand):
    await hand.submit(fan([0, 1], retry=RETRY))
    await hand.fail(await hand.lease_one())
    await hand.fail(await hand.lease_one())
    assert await placed(hand) == (0, 0)
    await hand.clock.advance(1)
    assert await hand.lease() == []
    await hand.settle_down()
    assert await placed(hand) == (1, 1)
    [again] = await hand.lease()
    assert again.item == 0, "the one that was due first"


async def test_each_item_tells_its_own_story_and_the_step_its_own_once(hand):
    id_ = await hand.submit(fan([0, 1, 2], parallelism=3, tolerate=1, retry={**RETRY, "max_attempts": 2}))
    leased = by_item(await hand.lease())
    await hand.succeed(leased[0], "zero")
    await hand.fail(leased[1])
    await hand.fail(leased[2])
    await hand.clock.advance(1)
    again = by_item(await hand.lease())
    await hand.succeed(again[1], "one")
    await hand.fail(again[2])
    assert await told_of(hand, id_, 0) == [
        ("action_started", 1),
        ("action_completed", 1),
        ("item_completed", None),
    ]
    failed_once = [("action_started", 1), ("action_error", 1), ("step_retry", 1), ("action_started", 2)]
    assert await told_of(hand, id_, 1) == [*failed_once, ("action_completed", 2), ("item_completed", None)]
    assert await told_of(hand, id_, 2) == [
        *failed_once,
        ("action_error", 2),
        ("step_retry_exhausted", 2),
        ("item_failed", 2),
    ]
    assert await told_of(hand, id_, None) == [("step_enqueued", None), ("step_completed", None)]
    events = await hand.events(id_)
    [enqueued] = [e["data"] for e in events if e["type"] == "step_enqueued"]
    assert enqueued == {"items": 3, "parallelism": 3}
    [failed] = [e["data"] for e in events if e["type"] == "item_failed"]
    assert (failed["attempts"], failed["tolerated"]) == (2, True)
    assert (failed["failure"]["reason"], failed["decision"]["verdict"]) == ("http_503", "fail")
    assert [e["data"] for e in events if e["type"] == "item_completed"] == [{"attempts": 1}, {"attempts": 2}]
    [done] = [e["data"] for e in events if e["type"] == "step_completed"]
    assert done["items"] == {"total": 3, "succeeded": 2, "failed": 1}


async def test_an_empty_list_is_complete_at_once(hand):
    id_, after = await hand.start(fan([], {"step": "after", "needs": ["each"]}))
    assert after.step == "after"
    await hand.succeed(after)
    execution = await hand.get(id_)
    assert execution["status"] == "completed"
    assert (execution["steps"]["each"]["status"], execution["steps"]["each"]["result"]) == ("completed", [])
    alone = await hand.get(await hand.submit(fan([])))
    assert (alone["status"], alone["result"]) == ("completed", {"each": []})


async def test_the_list_may_come_from_an_earlier_step_or_hold_templates(hand):
    first = {"step": "first"}
    id_ = await hand.submit(fan("{{ steps.first.result.rows }}", first, needs=["first"], parallelism=5))
    await hand.succeed(await hand.lease_one(), {"rows": ["{{ not a template }}", 2]})
    leased = by_item(await hand.lease())
    assert [a.spec["args"]["x"] for a in leased.values()] == ["{{ not a template }}", 2], "results are data"
    await hand.engine.cancel(id_, actor="ann")
    mixed = fan(
        ["{{ steps.first.result }}", {"n": "{{ execution_id }}"}], first, needs=["first"], parallelism=5
    )
    id_ = await hand.submit(mixed)
    await hand.succeed(await hand.lease_one(), [7])
    leased = by_item(await hand.lease())
    assert [leased[n].spec["args"]["x"] for n in range(2)] == [[7], {"n": id_}]


@pytest.mark.parametrize(
    ("result", "told"),
    [
        ({"rows": {"a": 1}}, "it must give a list, not a mapping"),
        ({"rows": "text"}, "it must give a list, not text"),
        ({"rows": None}, "it must give a list, not null"),
        ({}, "`steps.first.result.rows` is not there"),
    ],
)
async def test_what_is_not_a_list_fails_the_step_as_invalid_and_says_where(hand, result, told):
    source = fan("{{ steps.first.result.rows }}", {"step": "first"}, needs=["first"], retry=RETRY)
    id_ = await hand.submit(source)
    await hand.succeed(await hand.lease_one(), result)
    execution = await hand.get(id_)
    failure = execution["failure"]
    assert execution["status"] == "failed"
    assert (failure["class"], failure["reason"], failure["attempts"]) == ("invalid", "template_error", 0)
    assert failure["message"].startswith("`for_each` of step each: ")
    assert told in failure["message"]
    assert await told_of(hand, id_, None) == [("step_failed_terminal", None)]


async def test_until_polls_each_item_by_itself_and_leaves_its_place_meanwhile(hand):
    until = {"condition": "{{ result.done }}", "delay": "5s"}
    source = fan([0, 1], until=until, args={"x": "{{ item }}", "last": "{{ previous }}"})
    id_ = await hand.submit(source)
    await hand.succeed(await hand.lease_one(), {"done": False, "page": 1})
    one = await hand.lease_one()
    assert (one.item, one.spec["args"]["last"]) == (1, None)
    await hand.succeed(one, {"done": True})
    assert await hand.lease() == []
    await hand.clock.advance(5)
    await hand.settle_down()
    again = await hand.lease_one()
    assert (again.item, again.spec["args"]["last"]) == (0, {"done": False, "page": 1})
    assert again.is_retry is False
    await hand.succeed(again, {"done": True, "page": 2})
    assert (await hand.get(id_))["result"] == {"each": [{"done": True, "page": 2}, {"done": True}]}


async def test_two_thousand_items_are_counted_in_the_tables(hand):
    id_ = await hand.submit(fan(list(range(2000)), parallelism=50, retry=RETRY, tolerate=1))
    held = await hand.lease(slots=50)
    leased = by_item(held)
    await give_up(hand, leased[0])
    await hand.fail(leased[1])
    await hand.engine.report(
        [
            Report(a.execution_id, a.item_id, a.attempt, a.token, Outcome("succeeded", a.item), a.step)
            for a in held[2:40]
        ]
    )
    assert await counts(hand, id_) == {
        "total": 2000,
        "failed": 1,
        "retrying": 1,
        "succeeded": 38,
        "running": 10,
        "queued": 40,
        "waiting": 1910,
    }
    assert (await each_of(hand, id_))["status"] == "running"
    page = await hand.engine.items(id_, "each", limit=3)
    assert [(i.item, i.status, i.attempt, i.result) for i in page] == [
        (0, "failed", 1, None),
        (1, "retrying", 1, None),
        (2, "succeeded", 1, 2),
    ]
    assert page[0].failure["message"] == "no"
    assert page[1].last_error == "503 Service Unavailable"
    running = await hand.engine.items(id_, "each", states=["running"], after=44, limit=100)
    assert [(i.item, i.worker, i.max_attempts) for i in running] == [(n, "w1", 3) for n in range(45, 50)]
    with pytest.raises(NotFound, match="eachh"):
        await hand.engine.items(id_, "eachh")
    await hand.engine.cancel(id_, actor="ann")
    assert await counts(hand, id_) == {"total": 2000, "failed": 1, "succeeded": 38, "cancelled": 1961}


async def test_items_of_a_step_that_is_none_are_refused(hand):
    with pytest.raises(Conflict, match="for_each"):
        await hand.engine.items(await hand.submit(), "only")
