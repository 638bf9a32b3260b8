"""Every action in every state of a work item: what happens, or why it is refused. After each legal one the execution
reaches an end, and `tenax verify` finds nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from support.child_workflows import LEAF, begun, calling, child_of, three_levels
from support.hand import Hand, one_postgres
from support.laws import verify
from support.letters import quarantined

from tenax.errors import Conflict, InvalidDefinition, UsageError
from tenax.policy.operator_actions import ITEM_ACTIONS, ON_ITEM

pytestmark = one_postgres

HOUR = "{max_attempts: 3, initial_delay: 1h, max_delay: 1h, jitter: 0}"
WORK = f"""
name: work
workflow:
  - {{step: a, type: python, task: "t:t", retry: {HOUR}}}
  - {{step: b, type: python, task: "t:t", needs: [a]}}
"""
PATIENT_STEP = "{step: a, type: python, task: 't:t', retry: {max_attempts: unlimited, backoff: none}}"
Reach = Callable[[Hand], Awaitable[int]]


async def queued(hand: Hand) -> int:
    return await hand.submit(WORK)


async def leased(hand: Hand) -> int:
    id_ = await hand.submit(WORK)
    await hand.lease_one()
    return id_


async def retrying(hand: Hand) -> int:
    id_ = await hand.submit(WORK)
    await hand.fail(await hand.lease_one())
    return id_


async def failed(hand: Hand) -> int:
    id_ = await hand.submit(WORK)
    await hand.fail(await hand.lease_one(), status_code=404)
    return id_


async def accepted(hand: Hand) -> int:
    source = (
        "name: wait\nworkflow: [{step: a, type: wait}, {step: b, type: python, task: 't:t', needs: [a]}]\n"
    )
    return await begun(hand, source)


async def completed(hand: Hand) -> int:
    id_ = await hand.submit(WORK)
    await hand.succeed(await hand.lease_one())
    return id_


async def held(hand: Hand) -> int:
    return await quarantined(
        hand, f"name: held\nworkflow: [{PATIENT_STEP}, {{step: b, type: python, task: 't:t', needs: [a]}}]\n"
    )


async def asleep(hand: Hand) -> int:
    return await begun(
        hand,
        "name: nap\nworkflow: [{step: a, type: sleep, for: 1h}, {step: b, type: python, task: 't:t', needs: [a]}]\n",
    )


async def paused(hand: Hand) -> int:
    """A retry waits, and its execution is paused."""
    id_ = await retrying(hand)
    await hand.engine.pause(id_, actor="eve")
    return id_


async def cut_short(hand: Hand) -> int:
    """The step waited for a retry when the execution failed by its deadline: it was cancelled with it."""
    id_ = await hand.submit(f"deadline: 30m\n{WORK}")
    await hand.fail(await hand.lease_one())
    await hand.wait(1801)
    return id_


REACHED: dict[str, Reach] = {
    "queued": queued, "leased": leased, "retrying": retrying, "failed": failed, "accepted": accepted, "completed": completed,
    "held": held, "asleep": asleep, "paused": paused, "cancelled": cut_short,
}  # fmt: skip
STATE_OF = {"asleep": "accepted", "paused": "retrying"}
"""The state of the work item, if it is not the name of the case."""
MORE: dict[str, dict[str, Any]] = {
    "complete": {"result": {"by": "hand"}},
    "reschedule": {"policy": {"initial_delay": "10s", "max_delay": "10s"}},
}


async def to_its_end(hand: Hand, id_: int) -> str:
    """Succeeds with all that is ready, until the execution has ended."""
    for _ in range(20):
        while leased := await hand.lease():
            for a in leased:
                await hand.succeed(a, a.step)
        if (status := await hand.status(id_)) != "running":
            return status
        await hand.wait(3600)
    return "running"


@pytest.mark.parametrize("state", REACHED)
@pytest.mark.parametrize("action", ITEM_ACTIONS)
async def test_an_action_in_a_state_does_what_the_table_says(hand, state, action):
    id_ = await REACHED[state](hand)
    more = {"reason": "why not", "step": "a", **MORE.get(action, {})}
    if STATE_OF.get(state, state) not in ON_ITEM[action]:
        before = await hand.types(id_)
        with pytest.raises(Conflict) as refused:
            await hand.act(id_, action, **more)
        assert "legal now" in str(refused.value) or "--new" in (refused.value.remedy or "")
        assert await hand.types(id_) == before
    else:
        told = await hand.act(id_, action, **more)
        assert (told.steps, told.items) == (["a"], 1)
        assert told.reopened == ([id_] if state in ("failed", "cancelled") else [])
        who = (await hand.data_of(id_, "operator_action"))[-1]
        assert (who["actor"], who["reason"]) == ("ann", "why not")
        assert (await verify(hand))["violations"] == []
        if state == "paused":
            assert await hand.lease() == []
            assert told.status == ("failed" if action == "fail" else "paused")
            if action != "fail":
                await hand.engine.resume(id_, actor="ann")
        assert await to_its_end(hand, id_) == ("failed" if action == "fail" else "completed")
        if action == "complete":
            assert (await hand.get(id_))["steps"]["a"]["result"] == {"by": "hand"}
    assert (await verify(hand))["violations"] == []


async def cancelled(hand: Hand) -> int:
    id_ = await retrying(hand)
    await hand.engine.cancel(id_, actor="eve")
    return id_


async def ended(hand: Hand) -> int:
    id_ = await queued(hand)
    await to_its_end(hand, id_)
    return id_


async def compensating(hand: Hand) -> int:
    id_ = await hand.submit(UNDO)
    await hand.succeed(await hand.lease_one())
    await hand.fail(await hand.lease_one(), status_code=404)
    return id_


async def undone(hand: Hand) -> int:
    id_ = await compensating(hand)
    await hand.succeed(await hand.lease_one())
    return id_


async def deactivated(hand: Hand) -> int:
    id_ = await failed(hand)
    await hand.sql("update tenax.execution set deactivated_at = tenax.now() where id = $1", id_)
    return id_


@pytest.mark.parametrize("state", [cancelled, ended, compensating, undone, deactivated])
@pytest.mark.parametrize("action", ITEM_ACTIONS)
async def test_an_execution_that_cannot_go_on_refuses_every_action_on_its_items(hand, action, state):
    id_ = await state(hand)
    before = await hand.types(id_)
    for step in (None, "a"):
        with pytest.raises(Conflict) as refused:
            await hand.act(id_, action, reason="why not", step=step, **MORE.get(action, {}))
        assert f"`tenax retry {id_} --new`" in (refused.value.remedy or ""), (step, refused.value)
    assert await hand.types(id_) == before


async def skipped(hand: Hand) -> int:
    """Step b was skipped, and step c runs."""
    steps = "{step: a, type: python, task: 't:t'}, {step: b, type: python, task: 't:t', needs: [a], when: 'false'}"
    id_ = await hand.submit(
        f"name: skip\nworkflow: [{steps}, {{step: c, type: python, task: 't:t', needs: [b]}}]\n"
    )
    await hand.succeed(await hand.lease_one())
    return id_


@pytest.mark.parametrize(
    ("state", "status"), [(queued, "pending"), (failed, "unreachable"), (skipped, "skipped")]
)
@pytest.mark.parametrize("action", ITEM_ACTIONS)
async def test_a_step_that_has_no_item_refuses_every_action(hand, state, status, action):
    """It has not begun, or never will. `explain` says what stands in its way."""
    id_ = await state(hand)
    before = await hand.types(id_)
    with pytest.raises(Conflict) as refused:
        await hand.act(id_, action, reason="why not", step="b", **MORE.get(action, {}))
    if state is failed and action in ("fail", "reschedule"):
        assert "legal now: retry, reset, resolve or complete" in str(refused.value)
    else:
        assert f"step b of execution {id_} is {status}: {action} is not legal in this state" in str(
            refused.value
        )
        assert f"`tenax explain {id_} --step b`" in (refused.value.remedy or "")
    assert await hand.types(id_) == before


@pytest.mark.parametrize(
    ("state", "action", "becomes"),
    [
        (queued, "cancel", "cancelled"), (leased, "cancel", "cancelled"), (retrying, "cancel", "cancelled"),
        (accepted, "cancel", "cancelled"), (compensating, "cancel", "cancelled"), (paused, "cancel", "cancelled"),
        (queued, "pause", "paused"), (leased, "pause", "paused"), (retrying, "pause", "paused"),
        (accepted, "pause", "paused"), (paused, "resume", "running"), (failed, "cancel", None), (failed, "pause", None),
        (failed, "resume", None), (ended, "cancel", None), (ended, "pause", None), (ended, "resume", None),
        (cancelled, "pause", None), (cancelled, "resume", None),
    ],
)  # fmt: skip
async def test_an_action_on_an_execution_in_a_state_does_what_the_table_says(hand, state, action, becomes):
    id_ = await state(hand)
    before = await hand.types(id_)
    if becomes is None:
        with pytest.raises(Conflict, match="there is nothing to"):
            await hand.act(id_, action, reason="why not")
        assert await hand.types(id_) == before
        return
    assert (await hand.act(id_, action, reason="why not")).changed
    assert await hand.status(id_) == becomes
    who = (await hand.data_of(id_, "operator_action"))[-1]
    assert (who["action"], who["actor"], who["reason"]) == (action, "ann", "why not")
    assert (await verify(hand))["violations"] == []
    if becomes == "paused":
        await hand.engine.resume(id_, actor="ann")
    if becomes != "cancelled" and state is accepted:
        await hand.act(id_, "complete", step="a", result=1, reason="done")
    if becomes != "cancelled":
        assert await to_its_end(hand, id_) == "completed"
    assert (await verify(hand))["violations"] == []


async def exhausted(hand: Hand) -> int:
    id_ = await hand.submit(
        "name: one\nworkflow: [{step: a, type: python, task: 't:t', retry: {max_attempts: 2, backoff: none}}]\n"
    )
    for _ in range(2):
        await hand.fail(await hand.lease_one())
    assert await hand.status(id_) == "failed"
    return id_


async def test_a_retry_grants_one_attempt_and_a_reset_all_of_them(hand):
    id_ = await exhausted(hand)
    await hand.retry(id_)
    again = await hand.lease_one()
    assert again.attempt == 3
    assert (await hand.fail(again)).verdict == "fail"
    last = (await hand.data_of(id_, "step_failed_terminal"))[-1]["decision"]
    assert last["checks"][-1]["saw"] == {"counted": 3, "max_attempts": 2, "granted": 1}
    assert "attempt 3 of 2 + 1 granted (0 retries left)" in last["reason"]
    assert (last["after"]["granted"], last["after"]["reopened"]) == (1, 1)
    await hand.act(id_, "reset", reason="mended")
    assert (await hand.fail(await hand.lease_one())).verdict == "retry"
    again = await hand.lease_one()
    assert again.attempt == 5, "numbers go on"
    assert (await hand.fail(again)).verdict == "fail"
    assert (await verify(hand))["violations"] == []


async def test_the_report_of_a_revoked_attempt_is_late(hand):
    id_ = await hand.submit(WORK)
    a = await hand.lease_one()
    await hand.act(id_, "resolve", step="a", reason="done by hand")
    assert (await hand.succeed(a, "mine")).status == "late"
    assert (await hand.get(id_))["steps"]["a"]["result"] is None
    assert await to_its_end(hand, id_) == "completed"
    assert (await verify(hand))["violations"] == []


async def test_an_operators_failure_is_not_retried_and_on_failure_applies(hand):
    source = "name: f\nworkflow: [{step: a, type: python, task: 't:t', retry: 3, on_failure: continue}, {step: b, type: python, task: 't:t', needs: [a]}]\n"
    id_ = await hand.submit(source)
    await hand.act(id_, "fail", step="a", reason="hopeless")
    failure = (await hand.get(id_))["steps"]["a"]["failure"]
    assert (failure["class"], failure["reason"], failure["message"]) == (
        "logical",
        "failed_by_operator",
        "ann failed it: hopeless",
    )
    assert await to_its_end(hand, id_) == "completed"
    with pytest.raises(Conflict, match="is completed"):
        await hand.retry(id_, step="a")
    assert (await verify(hand))["violations"] == []


BOTH = """
name: both
workflow:
  - {step: a, type: python, task: "t:t"}
  - {step: b, type: python, task: "t:t"}
  - {step: c, type: python, task: "t:t", needs: [a]}
"""


async def test_one_of_two_failed_steps_that_is_retried_leaves_the_execution_failed_at_its_end(hand):
    id_ = await hand.submit(BOTH)
    a, b = sorted(await hand.lease(), key=lambda one: one.step)
    await hand.fail(a, status_code=404)
    await hand.fail(b, status_code=410)
    told = await hand.retry(id_, step="a")
    assert (told.status, told.steps) == ("running", ["a"])
    assert (await verify(hand))["violations"] == []
    assert await to_its_end(hand, id_) == "failed"
    execution = await hand.get(id_)
    assert execution["failure"]["step"] == "b"
    assert [s["status"] for s in execution["steps"].values()] == ["completed", "failed", "completed"]
    assert (await verify(hand))["violations"] == []
    await hand.retry(id_)
    assert await to_its_end(hand, id_) == "completed"
    assert (await verify(hand))["violations"] == []


FAN = """
name: fan
workflow:
  - {step: each, type: python, task: "t:t", for_each: [1, 2, 3, 4, 5], parallelism: 2, retry: {max_attempts: 1}}
  - {step: z, type: python, task: "t:t", needs: [each]}
"""


@pytest.mark.parametrize("item", [None, 1])
@pytest.mark.parametrize("action", ["retry", "reset", "resolve", "complete"])
async def test_a_failed_fan_out_goes_on_with_its_failed_items(hand, action, item):
    id_ = await hand.submit(FAN)
    one, two = sorted(await hand.lease(), key=lambda a: a.item or 0)
    await hand.succeed(one, "kept")
    await hand.fail(two, status_code=404)
    assert await hand.status(id_) == "failed"
    await hand.act(id_, action, step="each", item=item, reason="why not", **MORE.get(action, {}))
    assert (await verify(hand))["violations"] == []
    assert await to_its_end(hand, id_) == "completed"
    assert (await hand.get(id_))["steps"]["each"]["result"][0] == "kept"
    assert (await verify(hand))["violations"] == []


@pytest.mark.parametrize(
    ("item", "words"), [(0, "is succeeded: .* no action"), (9, "numbered from 0, and no item 9")]
)
@pytest.mark.parametrize("action", ["retry", "reset", "resolve"])
async def test_an_item_that_has_succeeded_or_is_not_there_opens_nothing_again(hand, action, item, words):
    id_ = await hand.submit(FAN)
    one, two = sorted(await hand.lease(), key=lambda a: a.item or 0)
    await hand.succeed(one, "kept")
    await hand.fail(two, status_code=404)
    with pytest.raises(Conflict, match=words):
        await hand.act(id_, action, step="each", item=item, reason="why not")
    assert (await hand.status(id_), await hand.counts(id_, "execution_reopened")) == ("failed", (0,))


async def test_a_lost_item_of_a_reopened_execution_is_rebuilt_by_the_sweep(hand):
    id_ = await exhausted(hand)
    await hand.retry(id_)
    [before] = await hand.sql("select attempt, ledger, available_at from tenax.item")
    await hand.sql("delete from tenax.item")
    await hand.engine.sweep()
    [after] = await hand.sql("select attempt, ledger, available_at from tenax.item")
    assert tuple(after) == tuple(before)
    assert await to_its_end(hand, id_) == "completed"
    assert (await verify(hand))["violations"] == []


@pytest.mark.parametrize("more", ["", ", {step: b, type: python, task: 't:t', needs: [a]}"])
async def test_a_step_that_failed_without_an_attempt_is_looked_at_anew(hand, more):
    """It fails again if its expression still cannot be computed. With a single step the execution stood still here."""
    id_ = await hand.submit(
        f"name: w\nworkflow: [{{step: a, type: python, task: 't:t', when: '{{{{ 1/0 }}}}'}}{more}]\n"
    )
    assert await hand.status(id_) == "failed"
    await hand.retry(id_)
    assert await hand.status(id_) == "failed"
    assert await hand.counts(id_, "execution_reopened", "step_failed_terminal", "execution_failed") == (
        1,
        2,
        2,
    )
    assert (await verify(hand))["violations"] == []
    await hand.act(id_, "reset", step="a", reason="once more")
    assert (await verify(hand))["violations"] == []


# -- deadlines, policies


async def test_a_deadline_that_has_passed_starts_anew(hand):
    id_ = await hand.submit(f"deadline: 1h\n{WORK}")
    await hand.wait(3700)
    assert (await hand.get(id_))["failure"]["reason"] == "execution_deadline"
    await hand.retry(id_)
    execution = await hand.get(id_)
    assert (execution["status"], execution["deadline_at"] > execution["now"]) == ("running", True)
    assert await to_its_end(hand, id_) == "completed"
    assert (await verify(hand))["violations"] == []


async def test_a_rescheduled_retry_is_due_by_its_new_policy_and_keeps_it(hand):
    id_ = await retrying(hand)
    await hand.act(
        id_, "reschedule", step="a", policy={"initial_delay": "10s", "max_delay": "10s", "max_attempts": 2}
    )
    assert await hand.lease() == []
    await hand.pass_time(10)
    again = await hand.lease_one()
    assert (await hand.fail(again)).verdict == "fail", "the new limit holds"
    assert (await hand.data_of(id_, "step_failed_terminal"))[0]["decision"]["max_attempts"] == 2
    assert (await verify(hand))["violations"] == []


@pytest.mark.parametrize(
    ("policy", "error", "words"),
    [
        ({"initial_dealy": "10s"}, InvalidDefinition, "initial_delay"),
        ({"max_attempts": 0}, InvalidDefinition, "max_attempts"),
        ({"vary": [{}]}, InvalidDefinition, "vary"),
        ({"max_attempts": 1}, Conflict, "1 attempts have counted"),
        ({"retryable": False}, Conflict, "retryable"),
    ],
)
async def test_a_policy_that_does_not_fit_is_refused(hand, policy, error, words):
    id_ = await retrying(hand)
    with pytest.raises(error, match=words):
        await hand.act(id_, "reschedule", step="a", policy=policy)
    assert await hand.counts(id_, "operator_action") == (0,)


# -- refusals


@pytest.mark.parametrize(
    ("action", "more", "words"),
    [
        ("resolve", {"step": "a"}, "needs a reason"),
        ("cancel", {"step": "a"}, "whole executions"),
        ("retry", {"item": 1}, "name its `step`"),
        ("retry", {"step": "a", "item": 1}, "no `for_each`"),
        ("complete", {"step": "a", "reason": "x"}, "needs the `result`"),
        ("reschedule", {"step": "a"}, "needs a `policy`"),
        ("retyr", {}, "did you mean `retry`"),
    ],
)
async def test_an_action_that_makes_no_sense_is_refused(hand, action, more, words):
    id_ = await queued(hand)
    with pytest.raises(UsageError, match=words):
        await hand.act(id_, action, **more)


UNDO = "name: u\nworkflow: [{step: a, type: python, task: 't:t', compensate: {type: python, task: 't:u'}}, {step: b, type: python, task: 't:t', needs: [a]}]\n"


async def test_what_cannot_be_reopened_offers_a_new_execution(hand):
    done = await completed(hand)
    await to_its_end(hand, done)
    gone = await queued(hand)
    await hand.engine.cancel(gone, actor="ann")
    undone = await hand.submit(UNDO)
    await hand.succeed(await hand.lease_one())
    await hand.fail(await hand.lease_one(), status_code=404)
    for id_ in (done, gone, undone):
        with pytest.raises(Conflict) as refused:
            await hand.retry(id_)
        assert f"`tenax retry {id_} --new`" in (refused.value.remedy or ""), id_


# -- children


async def fail_leaf(hand: Hand) -> None:
    for a in await hand.lease():
        await hand.fail(a, status_code=404)
    await hand.settle_down()


@pytest.mark.parametrize("named", [0, 1, 2])
async def test_a_family_runs_again_together_wherever_it_is_named(hand, named):
    ids = await three_levels(hand)
    await fail_leaf(hand)
    assert [await hand.status(id_) for id_ in ids] == ["failed"] * 3
    told = await hand.retry(ids[named])
    assert told.reopened == ids
    assert (await verify(hand))["violations"] == []
    await hand.settle_down()
    [a] = await hand.lease()
    assert (a.execution_id, a.attempt) == (ids[2], 2)
    await hand.succeed(a, "at last")
    await hand.settle_down()
    assert [await hand.status(id_) for id_ in ids] == ["completed"] * 3
    assert (await hand.get(ids[0]))["result"] == {"outer": {"inner": {"got": "at last"}}}
    assert (await verify(hand))["violations"] == []


async def test_a_child_whose_parent_has_gone_on_cannot_run_again(hand):
    ids = await three_levels(hand)
    await fail_leaf(hand)
    await hand.act(ids[0], "resolve", reason="done by hand")
    assert await hand.status(ids[0]) == "completed"
    with pytest.raises(Conflict, match=f"its parent, execution {ids[0]}, is completed"):
        await hand.retry(ids[2])
    assert (await verify(hand))["violations"] == []


async def test_a_resolved_step_cancels_its_child(hand):
    await hand.engine.store_workflow(LEAF)
    id_ = await begun(hand, calling())
    child = await child_of(hand, id_)
    await hand.act(id_, "resolve", step="call", reason="done by hand")
    await hand.settle_down()
    assert [await hand.status(one) for one in (id_, child)] == ["completed", "cancelled"]
    assert (await verify(hand))["violations"] == []


async def test_no_more_failed_children_run_again_at_once_than_there_are_slots(hand):
    await hand.engine.store_workflow(LEAF)
    id_ = await begun(hand, calling(", for_each: [1, 2, 3, 4], parallelism: 2, tolerate: 3"))
    for _ in range(2):
        await fail_leaf(hand)
    assert (await hand.get(id_))["steps"]["call"]["items"]["failed"] == 4
    told = await hand.retry(id_)
    assert len(told.reopened) == 3, "the parent, and two of its children"
    assert (await verify(hand))["violations"] == []
    for _ in range(6):
        for a in await hand.lease():
            await hand.succeed(a, "well")
        await hand.settle_down()
    assert await hand.status(id_) == "completed"
    assert (await verify(hand))["violations"] == []
