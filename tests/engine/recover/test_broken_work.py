"""What a review broke, and was mended: plans that cannot be read, children without a parent, lost items, waits over a gap."""

from __future__ import annotations

import pytest
from support.child_workflows import begun, child_of
from support.hand import Hand

from tenax.errors import Conflict, NotFound
from tenax.model.attempt.outcome import Outcome

KID = "name: kid\nworkflow: [{step: x, type: python, task: 't:t'}]\n"
CONDITIONAL = "name: {0}\ndeadline: {1}\nworkflow:\n  - {{step: {0}, type: python, task: 't:t', when: 'input == input'}}\n"
TELLER = """
name: teller
workflow:
  - {step: asked, type: wait, signal: go, deadline: 1m}
"""
LEASE = 30


async def break_plan(hand: Hand, name: str) -> Hand:
    """What another version might have written; and a server that has not seen the plan before."""
    await hand.sql(
        """update tenax.workflow set body = jsonb_set(body, '{steps,0,when}', '"))("') where name = $1""",
        name,
    )
    return await hand.restarted()


async def awaiting(hand: Hand, id_: int) -> dict[tuple[str, int | None], tuple[object, ...]]:
    """By step and place, what its item waits for, in which attempt, and until when."""
    rows = await hand.sql(
        "select step, item_no, state, awaiting, attempt, expires_at from tenax.item where execution_id = $1",
        id_,
    )
    return {(row["step"], row["item_no"]): tuple(row)[2:] for row in rows}


# -- one stored plan that cannot be read


async def test_a_plan_that_cannot_be_read_keeps_no_server_from_its_other_work(hand):
    bad = await hand.submit(CONDITIONAL.format("bad", "1h"))
    good = await hand.submit(CONDITIONAL.format("good", "1h"))
    later = await break_plan(hand, "bad")
    leased = await later.lease()
    assert [a.step for a in leased] == ["good"]
    await later.succeed(leased[0])
    await later.engine.sweep()
    assert await later.status(good) == "completed"
    with pytest.raises(Conflict, match="stored by another version of Tenax"):
        await later.get(bad)
    assert await later.engine.cancel(bad, actor="ann") is True


async def test_a_plan_that_cannot_be_read_keeps_no_deadline_from_being_seen(hand):
    bad = await hand.submit(CONDITIONAL.format("bad", "5s"))
    good = await hand.submit(CONDITIONAL.format("good", "6s"))
    later = await break_plan(hand, "bad")
    await later.pass_time(20)
    await later.engine.reap()
    assert await later.status(good) == "failed"
    [row] = await later.sql("select state from tenax.execution where id = $1", bad)
    assert row["state"] == "failed", "its own needs no plan either"


# -- a child that is started as its parent fails

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


# -- waits and polls


@pytest.mark.parametrize("name", [None, "", [1], {"a": 1}, True, 1.5])
async def test_a_signal_whose_name_is_none_fails_the_step_and_asks_for_no_approval(hand, name):
    source = "name: p\ninput: {n: {}}\nworkflow: [{step: w, type: wait, signal: '{{ input.n }}'}]\n"
    id_ = await begun(hand, source, input={"n": name})
    failure = (await hand.get(id_))["failure"]
    assert (failure["class"], failure["reason"]) == ("invalid", "template_error")
    assert "`signal` of step w: it must give the name of a signal" in failure["message"]
    with pytest.raises(Conflict):
        await hand.engine.decide_approval(id_, "w", approved=True, actor="ann")


async def test_a_poll_that_is_not_done_when_the_execution_ends_is_not_completed(hand):
    source = """
name: p
workflow:
  - {step: a, type: python, task: "t:t", until: {condition: "result == 1", delay: 5s}}
  - {step: b, type: python, task: "t:t"}
"""
    for result, status, kind in ((0, "failed", "action_polled"), (1, "completed", "action_completed")):
        id_ = await hand.submit(source)
        work = {a.step: a for a in await hand.lease()}
        await hand.fail(work["b"], fatal=True, message="no")
        assert (await hand.succeed(work["a"], result)).verdict == "stop"
        step = (await hand.get(id_))["steps"]["a"]
        assert step["status"] == status
        assert (await hand.types(id_))[-2] == kind
        assert (step["failure"] or {}).get("reason") == (None if result else "execution_ended")


# -- items that were lost

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


# -- a gap in service


async def test_after_a_gap_only_what_began_before_it_is_spared(hand):
    old = await begun(hand, TELLER)
    await hand.clock.advance(3600)
    await hand.engine.beat()
    new = await begun(hand, TELLER.replace("1m", "5s"))
    await hand.clock.advance(5)
    await hand.settle_down()
    assert (await hand.get(new))["failure"]["reason"] == "wait_deadline", "that had its time"
    assert await hand.status(old) == "running"
    await hand.wait(LEASE - 6)
    assert await hand.status(old) == "running", "it is spared for one lease"
    await hand.wait(1)
    assert (await hand.get(old))["failure"]["reason"] == "wait_deadline"


async def test_a_gap_lengthens_no_wait_that_has_time_left_and_no_sleep(hand):
    nap = "name: nap\nworkflow: [{step: s, type: sleep, for: 1m}]\n"
    waits = await hand.submit(TELLER.replace("1m", "2h"))
    sleeps = await begun(hand, nap)
    before = await awaiting(hand, waits)
    await hand.clock.advance(3600)
    await hand.engine.beat()
    assert await awaiting(hand, waits) == before
    await hand.settle_down()
    assert await hand.status(sleeps) == "completed"


# -- callbacks


async def test_the_callee_of_a_step_that_is_not_async_has_nothing_to_call_back(hand):
    id_, a = await hand.start("name: p\nworkflow: [{step: w, type: http, url: 'http://x.test/'}]\n")
    for ended in (False, True):
        if ended:
            await hand.succeed(a)
        before = await hand.types(id_)
        for step in (None, "w", "nobody"):
            with pytest.raises(NotFound, match="nothing to call back"):
                await hand.engine.callback(id_, a.item_id, 1, a.receipt, Outcome("succeeded", "x"), step=step)
        assert await hand.types(id_) == before, "nor can it fill the log"
