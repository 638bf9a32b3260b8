"""Tests which steps are undone, and which are not."""

from __future__ import annotations

import pytest
from support.compensation_workflows import (
    CHAIN,
    FAN_OUT,
    PARALLEL,
    UNDO,
    compensation_of,
    standing,
    undo_all,
    undo_next,
)

from tenax.model.attempt.outcome import Outcome


async def test_what_still_runs_finishes_first_and_is_undone_too(hand):
    id_ = await hand.submit(PARALLEL)
    work = {a.step: a for a in await hand.lease()}
    await hand.succeed(work["b"], "B")
    await hand.fail(work["c"], status_code=404)
    assert await standing(hand, id_) == ("running", "running")
    assert await hand.lease() == [], "nothing is undone while something runs"
    assert (await hand.beat(work["a"])).revoked == ()
    assert (await hand.succeed(work["a"], "A")).verdict == "stop"
    assert await undo_all(hand) == ["a", "b"], "a was the last to complete"
    assert await standing(hand, id_) == ("failed", "completed")


@pytest.mark.parametrize("end", ["fails", "is handed back", "is lost"])
async def test_what_still_ran_and_did_not_succeed_is_not_undone(hand, end):
    id_ = await hand.submit(PARALLEL.replace('task: "t:t", compensate', 'task: "t:t", retry: 3, compensate'))
    work = {a.step: a for a in await hand.lease()}
    await hand.succeed(work["b"], "B")
    await hand.fail(work["c"], status_code=404)
    a = work["a"]
    match end:
        case "fails":
            assert (await hand.fail(a)).verdict == "stop", "nothing is retried any more"
        case "is handed back":
            await hand.hand_back(a)
        case _:
            await hand.wait(31)
    assert await undo_all(hand) == ["b"]
    assert await standing(hand, id_) == ("failed", "completed")


async def test_what_waits_when_it_fails_is_cancelled(hand):
    id_ = await hand.submit(PARALLEL.replace('task: "t:t", compensate', 'task: "t:t", retry: 3, compensate'))
    work = {a.step: a for a in await hand.lease()}
    await hand.succeed(work["b"], "B")
    assert (await hand.fail(work["a"])).verdict == "retry"
    await hand.fail(work["c"], status_code=404)
    assert await undo_all(hand) == ["b"]
    assert (await hand.get(id_))["steps"]["a"]["status"] == "cancelled"


async def test_each_item_of_a_fan_out_is_undone_the_last_to_complete_first(hand):
    id_ = await hand.submit(FAN_OUT)
    work = {a.item: a for a in await hand.lease()}
    for item in (1, 2, 0):
        await hand.succeed(work[item], f"did {item}")
    await hand.fail(await hand.lease_one(), status_code=404)
    seen = []
    while found := await hand.lease():
        [undo] = found
        seen.append((undo.item, undo.spec["args"]))
        await hand.succeed(undo)
    assert seen == [
        (0, {"item": "x", "index": 0, "got": "did 0"}),
        (2, {"item": "z", "index": 2, "got": "did 2"}),
        (1, {"item": "y", "index": 1, "got": "did 1"}),
    ]
    assert await standing(hand, id_) == ("failed", "completed")
    undone = await compensation_of(hand, id_, "each")
    assert (undone["status"], undone["items"]["completed"], undone["items"]["total"]) == ("completed", 3, 3)


async def test_a_fan_out_that_fails_undoes_those_of_its_items_that_succeeded(hand):
    id_ = await hand.submit(FAN_OUT)
    work = {a.item: a for a in await hand.lease()}
    await hand.succeed(work[0], "did 0")
    await hand.fail(work[1], status_code=404)
    assert await hand.lease() == [], "the third still runs"
    assert (await hand.succeed(work[2], "did 2")).verdict == "stop"
    seen = []
    while found := await hand.lease():
        [undo] = found
        seen.append((undo.item, undo.spec["args"]["got"]))
        await hand.succeed(undo)
    assert seen == [(2, "did 2"), (0, "did 0")]
    assert await standing(hand, id_) == ("failed", "completed")


@pytest.mark.settings(callback_url="http://tenax.test")
async def test_what_a_callee_or_a_child_still_does_is_waited_for_and_undone_too(hand):
    source = f"""
name: trip
workflow:
  - {{step: job, type: http, url: "http://x.test/", async: {{deadline: 1h}}, {UNDO}}}
  - {{step: call, type: workflow, workflow: done, {UNDO}}}
  - {{step: bad, type: python, task: "t:t"}}
"""
    await hand.engine.store_workflow("name: done\nworkflow: [{step: s, type: python, task: 't:t'}]\n")
    id_ = await hand.submit(source)
    await hand.settle_down()
    work = {a.step: a for a in await hand.lease()}
    await hand.report(work["job"], Outcome("accepted"))
    await hand.fail(work["bad"], status_code=404)
    await hand.settle_down()
    assert await hand.lease() == []
    await hand.succeed(work["s"], 1)
    await hand.settle_down()
    assert await hand.lease() == [], "the callee has not called back yet"
    job = work["job"]
    told = await hand.engine.callback(
        job.execution_id, job.item_id, 1, job.receipt, Outcome("succeeded", "late, but done")
    )
    assert told.verdict == "stop"
    assert await undo_all(hand) == ["job", "call"]
    assert await standing(hand, id_) == ("failed", "completed")


@pytest.mark.settings(callback_url="http://tenax.test")
async def test_a_callee_that_never_calls_back_does_not_hold_it_up_for_ever(hand):
    source = PARALLEL.replace(
        '{step: a, type: python, task: "t:t"',
        '{step: a, type: http, url: "http://x.test/", async: {deadline: 1h}',
    )
    id_ = await hand.submit(source)
    work = {a.step: a for a in await hand.lease()}
    await hand.report(work["a"], Outcome("accepted"))
    await hand.succeed(work["b"])
    await hand.fail(work["c"], status_code=404)
    assert await hand.lease() == []
    await hand.wait(3600)
    assert await undo_all(hand) == ["b"]
    assert await standing(hand, id_) == ("failed", "completed")


async def test_an_execution_that_fails_as_it_is_submitted_is_not_left_open(hand):
    source = PARALLEL.replace(
        '{step: c, type: python, task: "t:t"', "{step: c, type: sleep, for: 1, for_each: '{{ execution_id }}'"
    )
    id_ = await hand.submit(source)
    assert await standing(hand, id_) == ("failed", "completed")
    assert await hand.lease() == []
    assert await hand.sql("select from tenax.item") == []


async def test_a_step_whose_failure_was_forgiven_is_not_undone_and_undoes_nothing(hand):
    source = f"""
name: trip
workflow:
  - {{step: a, type: python, task: "t:t", {UNDO}}}
  - {{step: b, type: python, task: "t:t", needs: [a], on_failure: {{value: 1}}, {UNDO}}}
  - {{step: c, type: python, task: "t:t", needs: [b]}}
"""
    id_ = await hand.submit(source)
    await hand.succeed(await hand.lease_one())
    await hand.fail(await hand.lease_one(), status_code=404)
    assert await standing(hand, id_) == ("running", None)
    await hand.fail(await hand.lease_one(), status_code=404)
    assert await undo_all(hand) == ["a"]
    assert await standing(hand, id_) == ("failed", "completed")


async def test_a_child_undoes_its_own_and_its_parent_hears_of_it_when_that_is_over(hand):
    parent = f"""
name: parent
workflow:
  - {{step: first, type: workflow, workflow: done, {UNDO}}}
  - {{step: second, type: workflow, workflow: trip, needs: [first]}}
"""
    await hand.engine.store_workflow("name: done\nworkflow: [{step: s, type: python, task: 't:t'}]\n")
    await hand.engine.store_workflow(CHAIN)
    id_ = await hand.submit(parent)
    await hand.settle_down()
    await hand.succeed(await hand.lease_one(), 1)
    await hand.settle_down()
    for _ in "abc":
        await hand.succeed(await hand.lease_one())
    await hand.fail(await hand.lease_one(), status_code=404)
    await hand.settle_down()
    assert await standing(hand, id_) == ("running", None)
    for step in "cba":
        await hand.succeed(await undo_next(hand, step))
    await hand.settle_down()
    assert await standing(hand, id_) == ("running", "running")
    undo = await undo_next(hand, "first")
    assert undo.spec["args"] == {"undo": {"s": 1}}
    await hand.succeed(undo)
    assert await standing(hand, id_) == ("failed", "completed")
    assert (await hand.get(id_))["failure"]["child"]["step"] == "d"


async def test_a_deadline_that_passes_undoes_what_was_done(hand):
    source = CHAIN.replace("name: trip", "name: trip\ndeadline: 1m")
    id_ = await hand.submit(source)
    await hand.succeed(await hand.lease_one(), "A")
    running = await hand.lease_one()
    for _ in range(6):
        await hand.pass_time(10)
        await hand.beat(running)
    await hand.settle_down()
    assert await standing(hand, id_) == ("running", "running")
    await hand.succeed(running, "B")
    await hand.clock.advance(3600)
    await hand.settle_down()
    assert await undo_all(hand) == ["b", "a"], "no deadline ends that"
    execution = await hand.get(id_)
    assert (execution["status"], execution["failure"]["reason"]) == ("failed", "execution_deadline")


async def test_of_a_fan_out_what_could_not_be_undone_is_named(hand):
    source = """
name: undone
workflow:
  - step: book
    type: python
    task: "t:t"
    for_each: [a, b, c]
    parallelism: 3
    compensate: {type: python, task: "t:undo", args: {what: "{{ item }}"}}
  - {step: pay, type: python, task: "t:t", needs: [book]}
"""
    id_ = await hand.submit(source)
    for assignment in await hand.lease():
        await hand.succeed(assignment)
    await hand.fail(await hand.lease_one(), status_code=400)
    for _ in "abc":
        undoing = await hand.lease_one()
        if undoing.spec["args"]["what"] == "b":
            await hand.fail(undoing, status_code=409, message="still there")
        else:
            await hand.succeed(undoing)
    execution = await hand.get(id_)
    assert (execution["status"], execution["compensation"]) == ("failed", "failed")
    assert [one.id for one in await hand.engine.list(compensation="failed")] == [id_]
    assert await hand.engine.list(compensation="completed") == []
    [failed] = execution["steps"]["book"]["compensation"]["failures"]
    assert (failed["item"], failed["failure"]["message"]) == (1, "still there")
