"""Tests children whose parent fails: they are awaited, undone or cancelled."""

from __future__ import annotations

from support.child_workflows import KID, awaiting, begun, child_of

DOOMED = """
name: parent
input: {bad: {}}
workflow:
  - {step: call, type: workflow, workflow: kid%s}
  - {step: doomed, type: sleep, for: "{{ input.bad }}"}
"""


async def test_a_child_started_in_the_batch_in_which_its_parent_fails_is_still_awaited(hand):
    await hand.engine.store_workflow(KID)
    id_ = await begun(hand, DOOMED % "", input={"bad": "nonsense"})
    assert await hand.status(id_) == "failed"
    [(state, awaited, attempt, _)] = (await awaiting(hand, id_)).values()
    assert (state, awaited, attempt) == ("accepted", "child", 1)
    await hand.succeed(await hand.lease_one(), "done")
    await hand.settle_down()
    assert (await hand.types(id_))[-2:] == ["action_completed", "step_completed"]
    assert await hand.sql("select from tenax.item") == []


async def test_and_what_it_did_is_undone(hand):
    undo = ", compensate: {type: python, task: 't:undo', args: {got: '{{ result }}'}}"
    await hand.engine.store_workflow(KID)
    id_ = await begun(hand, DOOMED % undo, input={"bad": "nonsense"})
    work = await hand.lease_one()
    assert (work.step, await hand.status(id_)) == ("x", "running"), "it must end before it can be undone"
    await hand.succeed(work, "done")
    await hand.settle_down()
    undoing = await hand.lease_one()
    assert (undoing.step, undoing.compensates, undoing.spec["args"]) == ("call", True, {"got": {"x": "done"}})
    await hand.succeed(undoing)
    execution = await hand.get(id_)
    assert (execution["status"], execution["compensation"]) == ("failed", "completed")


async def test_a_deadline_cancels_a_child_that_compensations_would_wait_for(hand):
    source = """
name: parent
deadline: 10s
workflow:
  - {step: a, type: python, task: "t:t", compensate: {type: python, task: "t:undo"}}
  - {step: call, type: workflow, workflow: forever, needs: [a]}
"""
    await hand.engine.store_workflow("name: forever\nworkflow: [{step: x, type: wait}]\n")
    id_ = await hand.submit(source)
    await hand.succeed(await hand.lease_one())
    await hand.settle_down()
    await hand.wait(20)
    child = await child_of(hand, id_)
    assert await hand.status(child) == "cancelled"
    undo = await hand.lease_one()
    assert (undo.step, undo.compensates) == ("a", True)
    await hand.succeed(undo)
    execution = await hand.get(id_)
    assert (execution["status"], execution["failure"]["reason"]) == ("failed", "execution_deadline")
