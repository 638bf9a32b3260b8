"""Tests the views for people: what executions and items wait for, how each item ended, and the results of fallbacks."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from msgspec import to_builtins
from support.child_workflows import begun
from support.fan_out_workflows import by_item, fan, give_up

from tenax.model.attempt.outcome import Outcome

CHILD = "name: child\nworkflow: [{step: run, type: python, task: t}]\n"
PARENT = "name: parent\nworkflow: [{step: part, type: workflow, workflow: child}]\n"
ONE_WAIT = "name: one\nworkflow: [{{step: it, {}}}]\n"
CALLED = ONE_WAIT.format("type: http, url: 'http://x/', async: {deadline: 1h}")


async def awaited(hand: Any, execution_id: int) -> Any:
    [found] = [row for row in await hand.engine.list() if row.id == execution_id]
    return to_builtins(found.waiting and found.waiting.awaiting)


async def test_a_list_says_what_each_execution_waits_for(hand):
    await hand.engine.store_workflow(CHILD)
    sleeps, signal, approval, parent, works = [
        await hand.submit(source)
        for source in (
            ONE_WAIT.format("type: sleep, for: 1h"),
            ONE_WAIT.format("type: wait, signal: paid, deadline: 1h"),
            ONE_WAIT.format("type: wait"),
            PARENT,
            CHILD,
        )
    ]
    assert await awaited(hand, signal) is None, "nobody waits before it has begun"
    await hand.settle_down()
    due = await hand.clock.now() + timedelta(hours=1)
    found = await awaited(hand, sleeps)
    assert (found["for"], datetime.fromisoformat(found["until"])) == ("sleep", due)
    found = await awaited(hand, signal)
    assert (found["for"], found["signal"], datetime.fromisoformat(found["deadline_at"])) == (
        "signal",
        "paid",
        due,
    )
    assert await awaited(hand, approval) == {"for": "approval", "deadline_at": None}
    child = (await hand.get(parent))["steps"]["part"]["children"][0]["id"]
    assert await awaited(hand, parent) == {"for": "child", "child": child, "deadline_at": None}
    assert await awaited(hand, works) is None, "a worker is to run it"
    await hand.engine.cancel(approval, actor="test")
    assert await awaited(hand, approval) is None


@pytest.mark.settings(callback_url="http://here/")
async def test_a_list_says_that_a_callback_is_awaited(hand):
    id_, leased = await hand.start(CALLED)
    await hand.report(leased, Outcome("accepted", {"status_code": 202}))
    assert (await awaited(hand, id_))["for"] == "callback"


async def test_children_are_marked_and_can_be_left_out(hand):
    await hand.engine.store_workflow(CHILD)
    parent = await begun(hand, PARENT)
    other = await hand.submit(CHILD)
    marked = [(row.workflow, row.parent) for row in await hand.engine.list()]
    assert marked == [("child", None), ("child", parent), ("parent", None)]
    assert [row.id for row in await hand.engine.list(top=True)] == [other, parent]
    assert [row.id for row in await hand.engine.list(top=True, limit=1, before=other)] == [parent]


SIGNALS = """
name: signals
workflow: [{step: each, type: wait, signal: "{{ item }}", deadline: 1h, for_each: [a, b]}]
"""


async def test_items_say_what_they_wait_for(hand):
    id_ = await begun(hand, SIGNALS)
    first, second = await hand.engine.items(id_, "each")
    assert (first.status, first.waiting.kind, first.waiting.signal) == (
        "accepted",
        "signal",
        "a",
    )
    assert first.waiting.deadline_at.endswith("Z")
    assert (second.status, second.waiting) == ("waiting", None)


async def standing(hand: Any, id_: int, **how: Any) -> list[tuple[int, str]]:
    return [(item.item, item.status) for item in await hand.engine.items(id_, "each", **how)]


async def test_items_that_were_cancelled_are_listed_in_their_place(hand):
    id_ = await hand.submit(
        fan([1, 2, 3, 4, 5], {"step": "after", "needs": ["each"]}, parallelism=3, on_failure="continue")
    )
    leased = by_item(await hand.lease(slots=3))
    await hand.succeed(leased[1])
    await give_up(hand, leased[0])
    ended = [(0, "failed"), (1, "succeeded"), (2, "running"), (3, "cancelled"), (4, "cancelled")]
    assert await standing(hand, id_) == ended, "the step has failed, and one item of it still runs"
    assert await standing(hand, id_, states=["cancelled"]) == ended[3:]
    assert await standing(hand, id_, after=2, limit=1) == ended[3:4]
    await hand.succeed(leased[2])
    assert (await standing(hand, id_))[2] == (2, "succeeded")


async def test_all_items_of_a_cancelled_execution_are_there(hand):
    id_ = await hand.submit(fan([1, 2, 3, 4], parallelism=2))
    leased = by_item(await hand.lease(slots=2))
    await hand.succeed(leased[0])
    assert (3, "waiting") in await standing(hand, id_)
    await hand.engine.cancel(id_, actor="test")
    assert await standing(hand, id_) == [(0, "succeeded"), *((n, "cancelled") for n in (1, 2, 3))]


FALLBACK = """
name: price
workflow:
  - {step: now, type: python, task: t, on_failure: {step: old}}
  - {step: old, type: python, task: t}
"""


async def test_a_step_that_failed_shows_what_its_fallback_lent(hand):
    id_ = await hand.submit(FALLBACK)
    await give_up(hand, await hand.lease_one())
    assert (await hand.get(id_))["steps"]["now"]["result"] is None
    await hand.succeed(await hand.lease_one(), {"price": 3})
    steps = (await hand.get(id_))["steps"]
    assert (steps["now"]["status"], steps["now"]["result"]) == ("failed", {"price": 3})
    assert steps["now"]["failure"]["class"] == "logical"
    good = await hand.submit(FALLBACK)
    await hand.succeed(await hand.lease_one(), {"price": 4})
    assert (await hand.get(good))["steps"]["now"]["result"] == {"price": 4}
