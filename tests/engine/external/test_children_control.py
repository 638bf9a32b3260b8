"""Tests that actions on a parent also apply to its descendants, however many there are."""

from __future__ import annotations

import asyncio
import contextlib
from contextlib import AsyncExitStack
from typing import Any

import pytest
from support.child_workflows import (
    LEAF,
    MIDDLE,
    begun,
    calling,
    child_of,
    children_of,
    do,
    statuses,
    three_levels,
)
from support.hand import Hand

from tenax import task
from tenax.embed import local_worker
from tenax.engine.engine import Engine
from tenax.errors import Busy, Conflict
from tenax.model.views import Tree
from tenax.model.wire import Submission
from tenax.settings import Settings
from tenax.store.connect import Database

# -- down: what is done to a parent


async def test_cancel_ends_everything_three_levels_down(hand):
    ids = await three_levels(hand)
    other = await three_levels(hand)
    work = {a.execution_id: a for a in await hand.lease(slots=1)}
    assert list(work) == [ids[2]]
    assert await hand.engine.cancel(ids[0], actor="ann", reason="wrong day") is True
    assert await statuses(hand, ids) == ["cancelled"] * 3
    [held] = work.values()
    assert (await hand.beat(held)).revoked, "the worker hears of it"
    assert (await hand.succeed(held)).status == "late"
    await hand.clock.advance(3600)
    await hand.settle_down()
    await hand.engine.sweep()
    await hand.settle_down()
    assert {a.execution_id for a in await hand.lease()} == {other[2]}, "nothing of it starts any more"
    assert await statuses(hand, ids) == ["cancelled"] * 3
    assert await hand.sql("select from tenax.item where execution_id = any($1)", ids) == []
    who = [e["data"] for id_ in ids for e in await hand.events(id_) if e["type"] == "operator_action"]
    assert [w.get("because_of") for w in who] == [None, ids[0], ids[0]]


async def test_cancel_in_the_middle_ends_what_is_below_and_fails_what_is_above(hand):
    top, middle, leaf = await three_levels(hand)
    await hand.engine.cancel(middle, actor="ann")
    await hand.settle_down()
    assert await statuses(hand, [top, middle, leaf]) == ["failed", "cancelled", "cancelled"]
    assert (await hand.get(top))["failure"]["reason"] == "child_cancelled"


async def test_children_that_a_failed_parent_left_running_are_cancelled_through_it(hand):
    await hand.engine.store_workflow(LEAF)
    source = calling().replace("}]", "}, {step: bad, type: python, task: 't:t'}]")
    id_ = await begun(hand, source)
    work = {a.step: a for a in await hand.lease()}
    await hand.fail(work["bad"], status_code=400)
    [child] = [one["id"] for one in await children_of(hand, id_)]
    assert await statuses(hand, [id_, child]) == ["failed", "running"]
    assert await hand.engine.cancel(id_, actor="ann") is True
    await hand.settle_down()
    assert await statuses(hand, [id_, child]) == ["failed", "cancelled"]
    with pytest.raises(Conflict, match="there is nothing to cancel"):
        await hand.engine.cancel(id_, actor="ann")


async def test_a_child_between_two_attempts_is_not_started_after_a_cancel(hand):
    await hand.engine.store_workflow(LEAF)
    more = ", retry: {max_attempts: 3, initial_delay: 5s, jitter: 0, retry_on: [child_failed]}"
    id_ = await begun(hand, calling(more))
    await hand.fail(await hand.lease_one(), status_code=404)
    await hand.settle_down()
    await hand.engine.cancel(id_, actor="ann")
    await hand.clock.advance(60)
    await hand.settle_down()
    assert len(await children_of(hand, id_)) == 1


async def test_pause_and_resume_go_down(hand):
    ids = await three_levels(hand)
    assert await hand.engine.pause(ids[0], actor="ann") is True
    assert await hand.engine.pause(ids[0], actor="ann") is False
    assert await statuses(hand, ids) == ["paused"] * 3
    await hand.settle_down()
    assert await hand.lease() == []
    assert await hand.engine.resume(ids[0], actor="ann") is True
    assert await hand.engine.resume(ids[0], actor="ann") is False
    assert await statuses(hand, ids) == ["running"] * 3
    await do(hand, 1)
    assert await statuses(hand, ids) == ["completed"] * 3
    for act in (hand.engine.pause, hand.engine.resume, hand.engine.cancel):
        with pytest.raises(Conflict, match="is completed"):
            await act(ids[0], actor="ann")


async def test_a_paused_parent_starts_no_child_and_hears_of_the_one_that_runs(hand):
    source = """
name: parent
workflow:
  - {step: call, type: workflow, workflow: leaf}
  - {step: then, type: workflow, workflow: leaf, needs: [call]}
"""
    await hand.engine.store_workflow(LEAF)
    id_ = await begun(hand, source)
    work = await hand.lease_one()
    await hand.engine.pause(id_, actor="ann")
    await hand.succeed(work, 1)
    await hand.settle_down()
    steps = (await hand.get(id_))["steps"]
    assert [steps[name]["status"] for name in ("call", "then")] == ["completed", "queued"]
    assert await children_of(hand, id_, "then") == []
    await hand.engine.resume(id_, actor="ann")
    await hand.settle_down()
    assert len(await children_of(hand, id_, "then")) == 1


async def test_the_timeout_of_the_step_cancels_the_child_and_a_retry_starts_another(hand):
    await hand.engine.store_workflow(LEAF)
    more = ", timeout: 1m, retry: {max_attempts: 2, initial_delay: 1s, jitter: 0}"
    id_ = await begun(hand, calling(more))
    work = await hand.lease_one()
    for _ in range(6):
        await hand.pass_time(10)
        await hand.beat(work)
    await hand.settle_down()
    first = await child_of(hand, id_)
    assert await hand.status(first) == "cancelled"
    assert (await hand.succeed(work)).status == "late"
    [error] = [e["data"]["failure"] for e in await hand.events(id_) if e["type"] == "action_error"]
    assert (error["class"], error["reason"]) == ("timeout", "attempt_timeout")
    await hand.wait(1)
    await do(hand, 1)
    assert await hand.status(id_) == "completed"
    assert [c["status"] for c in await children_of(hand, id_)] == ["cancelled", "completed"]


# -- many at once


FAMILY = """
name: parent
workflow:
  - step: call
    type: workflow
    workflow: middle
    for_each: [1, 2, 3, 4, 5, 6]
    parallelism: 6
    retry: {max_attempts: unlimited, backoff: none, retry_on: [child_failed]}
"""


async def _rival(url: str, home: Any, stack: AsyncExitStack) -> Engine:
    settings = Settings(home=home, database_url=url)
    database = await stack.enter_async_context(Database.open(settings))
    other = Engine(database, settings, roll=lambda: 0.5)
    await other.prepare()
    return other


def _size(tree: Tree) -> int:
    return 1 + sum(_size(child) for child in tree.children)


async def _work_until_cancelled(hand: Hand, ids: list[int]) -> None:
    """Starts children, leases and reports; every child fails, so that new ones are started all the time."""
    engine = hand.engine
    while any(one != "cancelled" for one in await statuses(hand, ids)):
        loops = [engine.server_steps.start(), engine.inbox_delivery.deliver(), engine.reap()]
        for found in await asyncio.gather(*loops, return_exceptions=True):
            assert not isinstance(found, BaseException) or isinstance(found, Busy), found
        for assignment in await hand.lease(slots=5):
            with contextlib.suppress(Busy):
                await hand.fail(assignment, status_code=404)


async def test_cancels_among_starts_and_reports_of_several_servers_leave_everything_cancelled(
    hand, any_database_url, tmp_path
):
    await hand.engine.store_workflow(LEAF.replace("max_attempts: 2", "max_attempts: 1"))
    await hand.engine.store_workflow(MIDDLE)
    ids = [await hand.submit(FAMILY) for _ in range(4)]
    async with AsyncExitStack() as stack:
        rivals = [await _rival(any_database_url, tmp_path, stack) for _ in range(2)]
        hands = [hand, *(Hand(rival, hand.clock) for rival in rivals)]

        async def cancel(id_: int, grown: int) -> None:
            while _size(await hand.engine.tree(id_)) < grown:
                pass
            await asyncio.gather(*(h.engine.cancel(id_, actor="ann") for h in hands))

        async with asyncio.timeout(60):
            await asyncio.gather(
                *(_work_until_cancelled(h, ids) for h in hands),
                *(cancel(id_, 5 * n) for n, id_ in enumerate(ids, 1)),
            )
    await hand.settle_down()
    states = await hand.sql("select state, count(*) as n from tenax.execution group by 1")
    assert {row["state"] for row in states} <= {"cancelled", "completed", "failed"}
    assert await hand.sql("select from tenax.item") == []
    assert await hand.lease() == []


@task(name="children_fine")
async def fine() -> int:
    return 1


BY_ITSELF = """
name: top
workflow:
  - step: call
    type: workflow
    workflow: middle
    for_each: [1, 2, 3]
    compensate: {type: python, task: children_fine}
  - {step: pause, type: sleep, for: 10ms, needs: [call]}
  - {step: told, type: wait, signal: go, needs: [pause]}
  - {step: doomed, type: sleep, for: "{{ steps.call.result }}", needs: [told]}
"""


async def test_all_of_it_goes_on_by_itself_where_servers_run(any_database_url, tmp_path):
    """Each is woken by what it waits for: no sweep comes in this time."""
    leaf = "name: leaf\nworkflow: [{step: do, type: python, task: children_fine}]\n"

    async def running(stack: AsyncExitStack) -> Engine:
        settings = Settings(home=tmp_path, database_url=any_database_url, sweep=3600)
        database = await stack.enter_async_context(Database.open(settings))
        return await stack.enter_async_context(Engine(database, settings).running())

    async with AsyncExitStack() as stack, asyncio.timeout(60):
        asked, works = await running(stack), await running(stack)
        await stack.enter_async_context(local_worker(works, name="far"))
        await asked.store_workflow(leaf)
        await asked.store_workflow(MIDDLE)
        [submitted] = await asked.submit([Submission(source=BY_ITSELF)])
        await works.signal(submitted.id, "go", actor="ann")
        cursor = None
        while (execution := await asked.get(submitted.id)).status == "running":
            cursor = (await asked.news(submitted.id, cursor=cursor, wait=20)).cursor
        assert (execution.status, execution.compensation) == ("failed", "completed")
        assert execution.failure["step"] == "doomed"
        assert execution.steps["call"].compensation.items["completed"] == 3


async def test_many_submissions_share_one_stored_child(hand):
    await hand.engine.store_workflow(LEAF)
    submissions = [Submission(source=calling(), key=f"k{n}") for n in range(50)]
    ids = [s.id for s in await hand.engine.submit(submissions)]
    assert [s.id for s in await hand.engine.submit(submissions)] == ids
    await hand.settle_down()
    for _ in range(5):
        await do(hand, 1)
    assert set(await statuses(hand, ids)) == {"completed"}
    assert len(await hand.sql("select from tenax.plan")) == 2
