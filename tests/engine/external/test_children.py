"""Tests children: how their ends reach their parents, and which execution is whose child."""

from __future__ import annotations

import pytest
from support.child_workflows import LEAF, begun, calling, child_of, children_of, do, statuses, three_levels
from support.hand import STARTED, STEP_DONE

from tenax.errors import NotFound, UsageError
from tenax.model.wire import Assignment

# -- up: how a child ends


async def test_a_child_gives_its_result_to_the_step(hand):
    await hand.engine.store_workflow(LEAF)
    id_ = await begun(hand, calling(", input: {n: 5}"))
    child = await child_of(hand, id_)
    below = await hand.get(child)
    assert below["parent"] == {"execution_id": id_, "step": "call", "item": None, "attempt": 1}
    assert below["input"] == {"n": 5}
    assert (await hand.get(id_))["steps"]["call"]["waiting"] == {"for": "child"}
    work = await hand.lease_one()
    assert (work.execution_id, work.spec["args"]) == (child, {"n": 5})
    await hand.succeed(work, "done")
    await hand.settle_down()
    assert (await hand.get(id_))["result"] == {"call": {"got": "done"}}
    assert await hand.types(id_) == [*STARTED, *STEP_DONE, "execution_completed"]
    started = (await hand.events(id_))[2]["data"]
    assert (started["child"], started["worker"]) == (child, None)
    assert (await hand.events(child))[0]["data"]["parent"]["execution_id"] == id_


async def test_waiting_for_a_child_uses_up_no_attempt_and_holds_no_slot(hand):
    await hand.engine.store_workflow("name: leaf\nworkflow: [{step: s, type: wait}]\n")
    id_ = await begun(hand, calling(", retry: 3"))
    await hand.clock.advance(30 * 86400)
    await hand.settle_down()
    assert await hand.lease() == []
    step = (await hand.get(id_))["steps"]["call"]
    assert (step["status"], step["attempt"], step["counted"]) == ("running", 1, 0)


async def test_a_failure_three_levels_down_is_told_above_with_its_class_and_history(hand):
    top, middle, leaf = await three_levels(hand)
    for _ in range(2):
        await hand.fail(await hand.lease_one())
    await hand.settle_down()
    assert await statuses(hand, [top, middle, leaf]) == ["failed", "failed", "failed"]
    failure = (await hand.get(top))["failure"]
    assert (failure["class"], failure["reason"]) == ("logical", "child_failed")
    assert (failure["step"], failure["attempts"]) == ("outer", 1)
    below = failure["child"]
    assert below["execution_id"] == middle
    assert (below["class"], below["reason"], below["step"]) == ("logical", "child_failed", "inner")
    deepest = below["child"]
    assert (deepest["execution_id"], deepest["step"], deepest["attempts"]) == (leaf, "do", 2)
    assert (deepest["class"], deepest["reason"]) == ("transient", "http_503")
    assert "503 Service Unavailable" in failure["message"]


async def test_retry_on_child_failed_starts_a_new_child_with_other_inputs(hand):
    more = (
        ", input: {n: 1}, retry: {max_attempts: 3, initial_delay: 5s, jitter: 0,"
        " retry_on: [child_failed], vary: [{}, {input: {n: 2}}]}"
    )
    await hand.engine.store_workflow(LEAF)
    id_ = await begun(hand, calling(more))
    await hand.fail(await hand.lease_one(), status_code=404)
    await hand.settle_down()
    assert len(await children_of(hand, id_)) == 1, "the retry has its delay"
    await hand.clock.advance(5)
    await hand.settle_down()
    assert [(c["status"], c["attempt"]) for c in await children_of(hand, id_)] == [
        ("failed", 1),
        ("running", 2),
    ]
    again = await hand.lease_one()
    assert again.spec["args"] == {"n": 2}
    await hand.succeed(again, "better")
    await hand.settle_down()
    assert (await hand.get(id_))["result"] == {"call": {"got": "better"}}
    started = await hand.data_of(id_, "action_started")
    assert [s.get("vary") for s in started] == [None, {"entry": 2, "override": {"input": {"n": 2}}}]
    assert len({s["child"] for s in started}) == 2


@pytest.mark.parametrize(("wanted", "children"), [("transient", 2), ("denied", 1)])
async def test_a_condition_sees_why_the_child_failed(hand, wanted, children):
    more = f", retry: {{max_attempts: 2, backoff: none, retry_when: \"failure.child.class == '{wanted}'\"}}"
    await hand.engine.store_workflow(LEAF)
    id_ = await begun(hand, calling(more))
    for _ in range(2):
        await hand.fail(await hand.lease_one())
    await hand.settle_down()
    assert len(await children_of(hand, id_)) == children


async def test_without_it_a_failed_child_is_not_retried(hand):
    await hand.engine.store_workflow(LEAF)
    id_ = await begun(hand, calling(", retry: 3"))
    await hand.fail(await hand.lease_one(), status_code=404)
    await hand.settle_down()
    assert await hand.status(id_) == "failed"
    assert len(await children_of(hand, id_)) == 1


async def test_a_child_that_ends_at_once_is_heard(hand):
    source = "name: leaf\nworkflow: [{step: do, type: python, task: 't:t', when: 'false'}]\n"
    broken = "name: leaf\ninput: {l: {default: 1}}\nworkflow: [{step: s, type: sleep, for: 1, for_each: '{{ input.l }}'}]\n"
    await hand.engine.store_workflow(source)
    id_ = await begun(hand, calling())
    assert (await hand.get(id_))["result"] == {"call": {"do": None}}
    await hand.engine.store_workflow(broken)
    id_ = await begun(hand, calling())
    assert (await hand.get(id_))["failure"]["child"]["reason"] == "template_error"


async def test_a_child_cancelled_by_itself_is_told_as_such_and_not_retried(hand):
    await hand.engine.store_workflow(LEAF)
    id_ = await begun(hand, calling(", retry: {max_attempts: 3, retry_on: [child_failed]}"))
    await hand.engine.cancel(await child_of(hand, id_), actor="ann", reason="wrong day")
    await hand.settle_down()
    failure = (await hand.get(id_))["failure"]
    assert (failure["class"], failure["reason"]) == ("cancelled", "child_cancelled")
    assert "wrong day" in failure["message"]
    assert len(await children_of(hand, id_)) == 1


async def test_a_child_that_still_runs_when_its_parent_fails_may_finish_and_is_recorded(hand):
    source = """
name: parent
workflow:
  - {step: call, type: workflow, workflow: leaf}
  - {step: own, type: python, task: "t:t"}
"""
    await hand.engine.store_workflow(LEAF)
    id_ = await begun(hand, source)
    work = {a.step: a for a in await hand.lease()}
    await hand.fail(work["own"], status_code=404)
    await hand.settle_down()
    child = await child_of(hand, id_)
    assert await statuses(hand, [id_, child]) == ["failed", "running"]
    assert (await hand.succeed(work["do"], 1)).verdict == "complete"
    await hand.settle_down()
    assert await statuses(hand, [id_, child]) == ["failed", "completed"]
    assert (await hand.types(id_))[-2:] == ["action_completed", "step_completed"]
    assert (await hand.get(id_))["failure"]["step"] == "own"


async def test_a_message_that_was_lost_is_sent_again_by_the_sweep(hand):
    await hand.engine.store_workflow(LEAF)
    id_ = await begun(hand, calling())
    await hand.succeed(await hand.lease_one(), 1)
    assert len(await hand.sql("delete from tenax.inbox returning id")) == 1
    await hand.settle_down()
    assert await hand.status(id_) == "running"
    await hand.engine.sweep()
    await hand.engine.sweep()
    assert len(await hand.sql("select from tenax.inbox")) == 1, "once is enough"
    await hand.settle_down()
    assert await hand.status(id_) == "completed"


async def test_a_child_goes_on_under_another_server(hand):
    ids = await three_levels(hand)
    later = await hand.restarted()
    await later.settle_down()
    assert len(await later.engine.list()) == 3
    await do(later, 1)
    assert await statuses(later, ids) == ["completed"] * 3
    assert await later.engine.recover() == []


# -- who is a child of whom


async def test_started_again_it_is_the_same_child(hand):
    """The start is known by parent, step, item and attempt, should its transaction ever be done again."""
    await hand.engine.store_workflow(LEAF)
    id_ = await begun(hand, calling())
    child = await child_of(hand, id_)
    assert (await hand.get(child))["key"] == f"tenax:child:{id_}:call::1"
    await hand.sql(
        "update tenax.item set state = 'queued', attempt = 0, awaiting = null where runtime = 'workflow'"
    )
    await hand.settle_down()
    assert await child_of(hand, id_) == child
    await do(hand, 1)
    assert await hand.status(id_) == "completed"


async def test_keys_of_the_servers_own_kind_are_refused(hand):
    with pytest.raises(UsageError, match="cannot begin with 'tenax:'"):
        await hand.submit(key="tenax:child:1:call::1")


async def test_the_tree_shows_all_levels(hand):
    ids = await three_levels(hand)
    tree = await hand.engine.tree(ids[0])
    seen = []
    while True:
        seen.append((tree.id, tree.workflow, tree.step, tree.attempt, tree.status))
        if not tree.children:
            break
        [tree] = tree.children
    assert seen == [
        (ids[0], "top", None, None, "running"),
        (ids[1], "middle", "outer", 1, "running"),
        (ids[2], "leaf", "inner", 1, "running"),
    ]
    with pytest.raises(NotFound):
        await hand.engine.tree(99)


async def test_a_fan_out_of_children_keeps_its_parallelism_and_its_order(hand):
    more = ", input: {n: '{{ item }}'}, for_each: [10, 20, 30, 40, 50], parallelism: 2"
    await hand.engine.store_workflow(LEAF)
    id_ = await begun(hand, calling(more))
    held: list[Assignment] = []
    for done in range(5):
        held += await hand.lease()
        assert len(await children_of(hand, id_)) == min(done + 2, 5)
        last = max(held, key=lambda a: a.execution_id)
        held.remove(last)
        await hand.succeed(last, last.spec["args"]["n"] + 1)
        await hand.settle_down()
    assert (await hand.get(id_))["result"] == {"call": [{"got": n} for n in (11, 21, 31, 41, 51)]}
    assert [c["item"] for c in await children_of(hand, id_)] == [0, 1, 2, 3, 4]
