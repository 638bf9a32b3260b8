"""Tests `on_failure: {step: NAME}`, which runs another step in place of a failed one."""

from __future__ import annotations

import pytest
from support.fallback_workflows import READS, run, statuses, story, workflow
from support.fan_out_workflows import give_up

from tenax.errors import InvalidDefinition


async def test_a_fallback_runs_only_where_the_step_failed_and_lends_its_result(hand):
    source = workflow(
        {"step": "a", "on_failure": {"step": "plan_b"}},
        {"step": "plan_b", "args": {"why": "{{ steps.a.failure.message }}"}},
        {"step": "c", "needs": ["a"], **READS},
    )
    id_ = await hand.submit(source)
    await give_up(hand, await hand.lease_one(), "a broke")
    fallback = await hand.lease_one()
    assert (fallback.step, fallback.spec["args"]) == ("plan_b", {"why": "a broke"})
    await hand.succeed(fallback, "from plan b")
    c = await hand.lease_one()
    assert c.spec["args"] == {"status": "failed", "got": "from plan b"}
    await hand.succeed(c, "ok")
    execution = await hand.get(id_)
    assert (execution["status"], execution["result"]) == ("completed", {"c": "ok"})
    assert statuses(execution) == {"a": "failed", "plan_b": "completed", "c": "completed"}
    assert execution["steps"]["c"]["needs"] == ["a", "plan_b"]
    well = await run(hand, source)
    assert statuses(well) == {"a": "completed", "plan_b": "skipped", "c": "completed"}
    assert await story(hand, well) == ["a step_completed", "plan_b step_skipped", "c step_completed"]


async def test_a_fallback_that_fails_cuts_off_what_waits_for_the_step(hand):
    source = workflow(
        {"step": "a", "on_failure": {"step": "plan_b"}},
        {"step": "plan_b"},
        {"step": "c", "needs": ["a"]},
        {"step": "other", "goal": True},
    )
    execution = await run(hand, source, "a", "plan_b")
    assert execution["status"] == "completed", "no goal needs it"
    assert statuses(execution)["c"] == "unreachable"
    assert execution["steps"]["c"]["failure"] == {"cause": "plan_b"}
    doomed = await run(hand, source.replace(', "goal": true', ""), "a", "plan_b")
    assert (doomed["status"], doomed["failure"]["step"]) == ("failed", "plan_b")


@pytest.mark.parametrize(
    ("failing", "ran", "result"),
    [
        ((), {"a": "completed", "b": "skipped", "c": "skipped"}, "a"),
        (("a",), {"a": "failed", "b": "completed", "c": "skipped"}, "b"),
        (("a", "b"), {"a": "failed", "b": "failed", "c": "completed"}, "c"),
        (("a", "b", "c"), {"a": "failed", "b": "failed", "c": "failed"}, None),
    ],
)
async def test_a_chain_of_fallbacks(hand, failing, ran, result):
    source = workflow(
        {"step": "a", "on_failure": {"step": "b"}},
        {"step": "b", "on_failure": {"step": "c"}},
        {"step": "c"},
        {"step": "end", "needs": ["a"], "args": {"got": "{{ steps.a.result }}"}},
    )
    id_ = await hand.submit(source)
    while (a := await hand.lease_one()).step != "end":
        await (give_up(hand, a) if a.step in failing else hand.succeed(a, a.step))
        if await hand.status(id_) == "failed":
            break
    execution = await hand.get(id_)
    assert {name: s for name, s in statuses(execution).items() if name != "end"} == ran
    if result is None:
        assert statuses(execution)["end"] == "unreachable"
        assert execution["failure"]["step"] == "c"
    else:
        assert a.spec["args"] == {"got": result}


async def test_the_fallback_of_a_goal_is_a_goal(hand):
    source = workflow(
        {"step": "a", "goal": True, "on_failure": {"step": "b"}}, {"step": "b"}, {"step": "c", "needs": ["b"]}
    )
    well = await run(hand, source)
    assert (well["status"], well["result"]) == ("completed", {"a": "a"})
    saved = await run(hand, source, "a")
    assert (saved["status"], saved["result"]) == ("completed", {"a": "b"})
    assert [saved["steps"][name]["goal"] for name in "abc"] == [True, True, False]
    lost = await run(hand, source, "a", "b")
    assert (lost["status"], lost["failure"]["step"]) == ("failed", "b")


async def test_a_last_step_with_a_fallback_is_still_a_last_step(hand):
    source = workflow({"step": "a", "on_failure": {"step": "b"}}, {"step": "b"})
    assert (await run(hand, source))["result"] == {"a": "a"}
    assert (await run(hand, source, "a"))["result"] == {"a": "b"}


async def test_a_step_that_is_skipped_or_cut_off_needs_no_fallback(hand):
    source = workflow(
        {"step": "z"},
        {"step": "a", "needs": ["z"], "when": "{{ steps.z.result == 'never' }}", "on_failure": {"step": "b"}},
        {"step": "b"},
        {"step": "c", "needs": ["a"]},
    )
    skipped = await run(hand, source)
    assert statuses(skipped) == {"z": "completed", "a": "skipped", "b": "skipped", "c": "completed"}
    cut_off = await run(hand, source, "z")
    assert statuses(cut_off) == {"z": "failed", "a": "unreachable", "b": "unreachable", "c": "unreachable"}
    assert {s["failure"]["cause"] for n, s in cut_off["steps"].items() if n != "z"} == {"z"}


async def test_a_fallback_may_have_a_condition_of_its_own(hand):
    source = workflow(
        {"step": "a", "on_failure": {"step": "b"}},
        {"step": "b", "when": "{{ steps.a.failure.class == 'transient' }}"},
        {"step": "c", "needs": ["a"], **READS},
    )
    logical = await run(hand, source, "a")
    assert statuses(logical) == {"a": "failed", "b": "skipped", "c": "completed"}
    id_ = await hand.submit(source)
    await hand.fail(await hand.lease_one())
    assert (await hand.lease_one()).step == "b"
    await hand.engine.cancel(id_, actor="ann")


async def test_a_fallback_with_a_value_of_its_own(hand):
    source = workflow(
        {"step": "a", "on_failure": {"step": "b"}}, {"step": "b", "on_failure": {"value": "at last"}}
    )
    execution = await run(hand, source, "a", "b")
    assert (execution["status"], execution["result"]) == ("completed", {"a": "at last"})
    assert statuses(execution) == {"a": "failed", "b": "completed"}


async def test_what_cannot_be_is_refused(hand):
    twice = [{"step": n, "on_failure": {"step": "c"}} for n in "ab"]
    with pytest.raises(InvalidDefinition, match="fallback of `a` already"):
        await hand.submit(workflow(*twice, {"step": "c"}))
    with pytest.raises(InvalidDefinition, match="circle"):
        await hand.submit(workflow({"step": "a", "needs": ["b"], "on_failure": {"step": "b"}}, {"step": "b"}))
