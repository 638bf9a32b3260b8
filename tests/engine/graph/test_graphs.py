"""Tests graphs: joins, goals, skipped and unreachable steps, and what a failed execution cancels."""

from __future__ import annotations

import pytest
from support.fallback_workflows import run, statuses

from tenax.errors import InvalidDefinition, InvalidInput


def graph(*steps: str, top: str = "") -> str:
    """`a`, `b<a`, `c<a,b!` (a goal): steps of a workflow in short."""
    lines = ["name: graph", top, "workflow:"]
    for step in steps:
        name, _, needs = step.rstrip("!").partition("<")
        lines.append(
            f"  - {{step: {name}, type: python, task: t:t, needs: [{needs}], goal: {str(step.endswith('!')).lower()}}}"
        )
    return "\n".join(lines)


async def test_a_join_waits_for_all_its_needs(hand):
    id_ = await hand.submit(graph("a", "b", "c<a,b", "d<c"))
    a, b = await hand.lease()
    await hand.succeed(a)
    assert await hand.lease() == []
    await hand.succeed(b)
    c = await hand.lease_one()
    assert c.step == "c"
    await hand.succeed(c)
    await hand.succeed(await hand.lease_one(), "end")
    execution = await hand.get(id_)
    assert execution["status"] == "completed"
    assert execution["result"] == {"d": "end"}


async def test_both_ends_of_a_join_reported_in_one_batch(hand):
    from tenax.model.attempt.outcome import Outcome
    from tenax.model.wire import Report

    await hand.submit(graph("a", "b", "c<a,b"))
    await hand.engine.report(
        [
            Report(x.execution_id, x.item_id, x.attempt, x.token, Outcome("succeeded"))
            for x in await hand.lease()
        ]
    )
    assert [x.step for x in await hand.lease()] == ["c"]


async def test_a_diamond_with_a_failing_branch_that_no_goal_needs_completes(hand):
    execution = await run(hand, graph("a", "b<a", "c<a!", "d<b"), "b")
    assert execution["status"] == "completed"
    assert statuses(execution) == {"a": "completed", "b": "failed", "c": "completed", "d": "unreachable"}
    assert execution["steps"]["d"]["failure"] == {"cause": "b"}


async def test_a_goal_that_cannot_be_reached_fails_the_execution(hand):
    execution = await run(hand, graph("a", "b<a", "c<a", "d<b,c"), "b")
    assert execution["status"] == "failed"
    assert execution["failure"]["step"] == "b"
    assert statuses(execution)["d"] == "unreachable"


async def test_a_failed_execution_cancels_what_waits_and_records_what_runs(hand):
    id_ = await hand.submit(graph("a", "b", "c", "d<a,b,c"))
    fails, runs = await hand.lease(slots=2)
    [waits] = {"a", "b", "c"} - {fails.step, runs.step}
    await hand.fail(fails, fatal=True)
    execution = await hand.get(id_)
    assert execution["status"] == "failed"
    assert statuses(execution) == {
        fails.step: "failed",
        runs.step: "running",
        waits: "cancelled",
        "d": "unreachable",
    }
    assert (await hand.succeed(runs, "done")).verdict == "stop"
    execution = await hand.get(id_)
    assert statuses(execution)[runs.step] == "completed"
    assert execution["status"] == "failed"
    assert await hand.lease() == []
    assert await hand.sql("select from tenax.item") == []


async def test_when_skips_a_step_and_its_dependents_go_on(hand):
    source = """
name: skipping
input: {deep: {type: boolean, required: true}}
workflow:
  - {step: a, type: python, task: "t:t"}
  - {step: b, type: python, task: "t:t", needs: [a], when: "{{ input.deep and steps.a.result == 'a' }}"}
  - {step: c, type: python, task: "t:t", needs: [b]}
"""
    shallow = await run(hand, source, input={"deep": False})
    assert statuses(shallow) == {"a": "completed", "b": "skipped", "c": "completed"}
    assert shallow["status"] == "completed"
    deep = await run(hand, source, input={"deep": True})
    assert statuses(deep) == {"a": "completed", "b": "completed", "c": "completed"}


async def test_a_workflow_of_skipped_steps_completes_at_once(hand):
    source = 'name: none\nworkflow:\n  - {step: a, type: python, task: "t:t", when: "false"}\n'
    pair = (
        source
        + '  - {step: b, type: python, task: "t:t", needs: [a], when: "{{ steps.a.status == \'completed\' }}"}\n'
    )
    assert (await run(hand, source))["status"] == "completed"
    assert (await run(hand, pair))["status"] == "completed"


async def test_inputs_are_rendered_when_an_attempt_is_leased(hand):
    source = """
name: rendering
input: {who: {type: string, default: world}}
outputs: {said: "{{ steps.greet.result.text }}", n: "{{ steps.greet.result.n }}"}
workflow:
  - {step: hello, type: python, task: "t:t", args: {text: "hello {{ input.who }}", attempt: "{{ attempt }}"}}
  - {step: greet, type: python, task: "t:t", needs: [hello], args: {all: "{{ steps.hello.result }}"}}
"""
    id_, a = await hand.start(source, input={"who": "you"})
    assert a.spec["args"] == {"text": "hello you", "attempt": 1}
    await hand.succeed(a, {"list": [1, "{{ input.who }}"]})
    b = await hand.lease_one()
    assert b.spec["args"] == {"all": {"list": [1, "{{ input.who }}"]}}, (
        "results are data, never rendered again"
    )
    await hand.succeed(b, {"text": "hi", "n": 5})
    assert (await hand.get(id_))["result"] == {"said": "hi", "n": 5}


async def test_a_template_that_finds_nothing_fails_the_attempt_as_invalid(hand):
    source = """
name: typo
workflow:
  - {step: a, type: python, task: "t:t"}
  - {step: b, type: python, task: "t:t", needs: [a], args: {x: "{{ steps.a.result.nope }}"}}
"""
    id_ = await hand.submit(source)
    await hand.succeed(await hand.lease_one(), {"yes": 1})
    assert await hand.lease() == []
    await hand.finish_background_work()
    execution = await hand.get(id_)
    assert execution["failure"]["reason"] == "template_error"
    assert "nope" in execution["failure"]["message"]


async def test_an_execution_past_its_deadline_fails(hand):
    id_, a = await hand.start(graph("a", "b<a", top="deadline: 1h"))
    await hand.clock.advance(3599)
    await hand.beat(a)
    await hand.clock.advance(1)
    await hand.engine.beat()
    assert await hand.engine.reap() >= 1
    execution = await hand.get(id_)
    assert execution["status"] == "failed"
    assert (execution["failure"]["class"], execution["failure"]["reason"]) == (
        "timeout",
        "execution_deadline",
    )


async def test_wrong_files_and_inputs_are_refused_before_anything_is_written(hand):
    with pytest.raises(InvalidDefinition, match="a -> b -> a"):
        await hand.submit(graph("a<b", "b<a"))
    with pytest.raises(InvalidInput, match="who"):
        await hand.submit(
            "name: x\ninput: {who: {type: string, required: true}}\nworkflow:\n  - {step: a, type: python, task: 't:t'}\n"
        )
    assert await hand.engine.list() == []


async def test_a_wide_graph_joins_and_fans_out_again(hand):
    """A wide fan into one join and out again, over many batches."""
    fan = [f"a{n}" for n in range(300)]
    source = graph(*fan, f"join<{','.join(fan)}", *[f"z{n}<join" for n in range(300)])
    execution = await run(hand, source)
    assert execution["status"] == "completed"
    assert len(execution["result"]) == 300


async def test_nothing_is_left_queued_by_a_transition_that_fails_the_execution(hand):
    source = """
name: doomed
workflow:
  - {step: a, type: python, task: "t:t", when: "{{ input.nope.deeper > 'x' + 1 }}"}
  - {step: b, type: python, task: "t:t"}
input: {nope: {type: object, default: {deeper: 1}}}
"""
    id_ = await hand.submit(source)
    events = await hand.events(id_)
    assert [(e["type"], e["step"]) for e in events][-3:] == [
        ("step_enqueued", "b"),
        ("item_cancelled", "b"),
        ("execution_failed", None),
    ]
    assert await hand.lease() == []
