"""Tests that lost items of the server's own steps, of children and of compensations are made again."""

from __future__ import annotations

from support.child_workflows import KID, awaiting, begun

WAITS = """
name: waits
workflow:
  - {step: call, type: workflow, workflow: kid, timeout: 3h}
  - {step: nap, type: sleep, for: 1h}
  - {step: told, type: wait, signal: go, deadline: 2h}
  - {step: allowed, type: wait}
  - {step: many, type: workflow, workflow: kid, for_each: [1, 2], parallelism: 2}
"""


async def test_lost_items_of_the_servers_own_steps_wait_on_for_the_same(hand):
    await hand.engine.store_workflow(KID)
    id_ = await begun(hand, WAITS)
    await hand.pass_time(600)
    before = await awaiting(hand, id_)
    assert {one[0] for one in before.values()} == {"accepted"}
    children = len(await hand.engine.list())
    await hand.sql("delete from tenax.item where execution_id = $1", id_)
    await hand.engine.sweep()
    await hand.settle_down()
    assert await awaiting(hand, id_) == before, "the same attempt, for the same, until the same time"
    assert len(await hand.engine.list()) == children, "no child is started twice"
    for work in await hand.lease():
        await hand.succeed(work, 1)
    await hand.engine.signal(id_, "go", actor="ann")
    await hand.engine.decide_approval(id_, "allowed", approved=True, actor="ann")
    await hand.wait(2990)
    assert await hand.status(id_) == "running", "the nap began an hour before its end"
    await hand.wait(10)
    assert await hand.status(id_) == "completed"


async def test_the_end_of_a_child_is_heard_by_the_sweep_though_its_first_item_was_lost(hand):
    await hand.engine.store_workflow(KID)
    id_ = await begun(hand, "name: p\nworkflow: [{step: call, type: workflow, workflow: kid}]\n")
    work = await hand.lease_one()
    await hand.sql("delete from tenax.item where execution_id = $1", id_)
    assert await hand.engine.recover() == [id_]
    await hand.succeed(work, 1)
    await hand.sql("delete from tenax.inbox")
    await hand.engine.sweep()
    await hand.settle_down()
    assert (await hand.get(id_))["result"] == {"call": {"x": 1}}


async def test_a_lost_compensation_is_found_where_a_fan_out_was_open_too(hand):
    source = """
name: p
workflow:
  - {step: a, type: python, task: "t:t", compensate: {type: python, task: "t:undo"}}
  - {step: each, type: python, task: "t:t", for_each: [1, 2, 3], needs: [a]}
  - {step: z, type: python, task: "t:t", needs: [a]}
"""
    id_ = await hand.submit(source)
    await hand.succeed(await hand.lease_one())
    work = {a.step: a for a in await hand.lease()}
    await hand.fail(work["z"], fatal=True, message="no")
    await hand.succeed(work["each"])
    await hand.sql("delete from tenax.item")
    assert await hand.engine.recover() == [id_]
    undo = await hand.lease_one()
    assert (undo.step, undo.compensates) == ("a", True)
    await hand.succeed(undo)
    assert await hand.status(id_) == "failed"
