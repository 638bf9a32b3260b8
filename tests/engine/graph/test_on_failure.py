"""Tests `on_failure` with a value or with nothing in place of a failed step, also of fan-outs."""

from __future__ import annotations

import pytest
from support.fallback_workflows import READS, run, statuses, workflow
from support.fan_out_workflows import RETRY, by_item, fan, give_up

# -- continue


async def test_continue_lets_what_depends_on_it_go_on(hand):
    source = workflow(
        {"step": "a", "on_failure": "continue"},
        {"step": "b", "needs": ["a"], "args": {"why": "{{ steps.a.failure.message }}", **READS["args"]}},
    )
    id_ = await hand.submit(source)
    await give_up(hand, await hand.lease_one(), "a broke")
    b = await hand.lease_one()
    assert b.spec["args"] == {"status": "failed", "got": None, "why": "a broke"}
    await hand.succeed(b, "ok")
    execution = await hand.get(id_)
    assert (execution["status"], execution["result"]) == ("completed", {"b": "ok"})
    assert statuses(execution) == {"a": "failed", "b": "completed"}
    assert execution["steps"]["a"]["on_failure"] == "continue"
    [failed] = await hand.events_of(id_, "step_failed_terminal")
    assert failed["data"]["on_failure"] == "continue"
    assert failed["data"]["failure"]["message"] == "a broke"


async def test_it_counts_only_once_the_retries_are_used_up(hand):
    id_ = await hand.submit(
        workflow({"step": "a", "retry": {**RETRY, "max_attempts": 2}, "on_failure": "continue"})
    )
    await hand.fail(await hand.lease_one())
    assert await hand.status(id_) == "running"
    await hand.clock.advance(1)
    await hand.fail(await hand.lease_one())
    execution = await hand.get(id_)
    assert (execution["status"], execution["result"]) == ("completed", {"a": None})
    assert (await hand.types(id_))[-3:] == [
        "step_retry_exhausted",
        "step_failed_terminal",
        "execution_completed",
    ]


async def test_a_step_that_fails_before_it_starts_is_forgiven_too(hand):
    source = workflow(
        {"step": "a"},
        {"step": "b", "needs": ["a"], "when": "{{ steps.a.result.x > 'y' + 1 }}", "on_failure": "continue"},
        {"step": "c", "needs": ["a"], "for_each": "{{ steps.a.result }}", "on_failure": {"value": []}},
        {"step": "d", "needs": ["b", "c"], "args": {"c": "{{ steps.c.result }}"}},
    )
    execution = await run(hand, source)
    assert statuses(execution) == {"a": "completed", "b": "failed", "c": "completed", "d": "completed"}
    assert execution["steps"]["b"]["failure"]["message"].startswith("`when` of step b: ")
    assert [execution["steps"][name]["on_failure"] for name in "bc"] == ["continue", "value"]
    assert execution["steps"]["c"]["result"] == []


# -- value


async def test_a_value_stands_in_for_the_result(hand):
    value = {
        "fallback": True,
        "why": "{{ steps.a.failure.reason }}",
        "who": "{{ input.who }}",
        "x": "{{ steps.z.result }}",
    }
    source = workflow(
        {"step": "z"},
        {"step": "a", "needs": ["z"], "on_failure": {"value": value}},
        {"step": "b", "needs": ["a"], **READS},
        input={"who": {"type": "string", "default": "me"}},
    )
    id_ = await hand.submit(source)
    await hand.succeed(await hand.lease_one(), [26])
    await give_up(hand, await hand.lease_one(), "a broke")
    b = await hand.lease_one()
    expected = {"fallback": True, "who": "me", "x": [26]}
    assert b.spec["args"]["status"] == "completed"
    assert {k: v for k, v in b.spec["args"]["got"].items() if k != "why"} == expected
    await hand.succeed(b)
    execution = await hand.get(id_)
    a = execution["steps"]["a"]
    assert (execution["status"], a["status"], a["on_failure"]) == ("completed", "completed", "value")
    assert a["result"] == {**expected, "why": a["failure"]["reason"]}
    assert a["failure"]["message"] == "a broke", "why it was needed is kept"
    events = [e for e in await hand.events(id_) if e["step"] == "a"][-2:]
    assert [(e["type"], e["data"]["on_failure"]) for e in events] == [
        ("step_failed_terminal", "value"),
        ("step_completed", "value"),
    ]


async def test_a_value_that_cannot_be_had_fails_the_step_and_says_why(hand):
    source = workflow(
        {"step": "z"},
        {"step": "a", "needs": ["z"], "on_failure": {"value": "{{ steps.z.result.nope }}"}},
        {"step": "b", "needs": ["a"]},
    )
    execution = await run(hand, source, "a")
    assert execution["status"] == "failed"
    assert statuses(execution) == {"z": "completed", "a": "failed", "b": "unreachable"}
    failure = execution["failure"]
    assert (failure["class"], failure["reason"], failure["step"]) == ("invalid", "template_error", "a")
    assert failure["message"].startswith("`on_failure` of step a: ")
    a = execution["steps"]["a"]
    assert a["failure"]["message"] == failure["message"], "the step's own record says so too"
    told = [e["data"] for e in await hand.events(execution["id"]) if e["type"] == "step_failed_terminal"]
    assert [d.get("on_failure") for d in told] == ["value", None]
    assert told[0]["failure"]["message"] == "a broke"


@pytest.mark.parametrize("value", [None, 0, "", [], {"deep": [1, {"x": None}]}])
async def test_any_value_will_do(hand, value):
    execution = await run(hand, workflow({"step": "a", "on_failure": {"value": value}}), "a")
    assert (execution["status"], execution["result"]) == ("completed", {"a": value})


# -- fan-outs


@pytest.mark.parametrize(
    ("on_failure", "status", "result"),
    [("continue", "failed", ["zero", None, None]), ({"value": ["none"]}, "completed", ["none"])],
)
async def test_a_fan_out_that_failed_is_forgiven_as_any_step(hand, on_failure, status, result):
    after = {
        "step": "after",
        "needs": ["each"],
        "when": "{{ steps.each.failures | length == 1 }}",
        "args": {"got": "{{ steps.each.result }}", "failed": "{{ steps.each.failures }}"},
    }
    id_ = await hand.submit(fan([0, 1, 2], after, parallelism=2, on_failure=on_failure))
    leased = by_item(await hand.lease())
    await hand.succeed(leased[0], "zero")
    await give_up(hand, leased[1], "broken")
    seen = await hand.lease_one()
    assert (seen.step, seen.spec["args"]["got"]) == ("after", result)
    assert [(f["item"], f["message"]) for f in seen.spec["args"]["failed"]] == [(1, "broken")]
    await hand.succeed(seen)
    execution = await hand.get(id_)
    each = execution["steps"]["each"]
    assert (execution["status"], each["status"], each["result"]) == ("completed", status, result)
    assert each["items"]["cancelled"] == 1


async def test_a_fan_out_falls_back_on_a_fan_out(hand):
    spare = {"step": "spare", "for_each": "{{ steps.each.failures }}", "args": {"item": "{{ item.item }}"}}
    id_ = await hand.submit(fan([0, 1], spare, parallelism=2, on_failure={"step": "spare"}))
    leased = by_item(await hand.lease())
    await give_up(hand, leased[1])
    await hand.succeed(leased[0])
    again = await hand.lease_one()
    assert (again.step, again.spec["args"]) == ("spare", {"item": 1})
    await hand.succeed(again, "mended")
    execution = await hand.get(id_)
    assert (execution["status"], execution["result"]) == ("completed", {"each": ["mended"]})


async def test_a_broken_value_of_a_fan_out_leaves_its_results_readable(hand):
    broken = {"value": "{{ steps.each.result[5] }}"}
    id_ = await hand.submit(fan([0, 1], parallelism=2, on_failure=broken))
    leased = by_item(await hand.lease())
    await hand.succeed(leased[0], "zero")
    await give_up(hand, leased[1])
    execution = await hand.get(id_)
    assert (execution["status"], execution["failure"]["reason"]) == ("failed", "template_error")
    each = execution["steps"]["each"]
    assert (each["status"], each["result"]) == ("failed", ["zero", None])
    assert each["failure"]["reason"] == "template_error"


# -- recovery


@pytest.mark.parametrize("on_failure", ["continue", {"value": 1}, {"step": "spare"}])
async def test_a_lost_item_behind_a_forgiven_failure_is_found(hand, on_failure):
    steps = [{"step": "a", "on_failure": on_failure}, {"step": "b", "needs": ["a"]}]
    if on_failure == {"step": "spare"}:
        steps.append({"step": "spare"})
    id_ = await hand.submit(workflow(*steps))
    await give_up(hand, await hand.lease_one())
    await hand.sql("delete from tenax.item")
    assert await hand.engine.recover() == [id_]
    execution_runs = []
    while leased := await hand.lease():
        for a in leased:
            execution_runs.append(a.step)
            await hand.succeed(a, a.step)
    assert execution_runs == (["spare", "b"] if len(steps) == 3 else ["b"])
    assert await hand.status(id_) == "completed"
