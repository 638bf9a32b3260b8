"""Tests results that are too large to be read: a step that needs one fails and says so, others go on, and views leave it out."""

from __future__ import annotations

import json

import pytest
from msgspec import to_builtins
from support.fan_out_workflows import by_item

from tenax.engine.views import executions
from tenax.model.execution_views import LEFT_OUT

pytestmark = pytest.mark.settings(max_rendered=20_000)

EACH = {"step": "each", "type": "python", "task": "t:t", "for_each": list(range(10)), "parallelism": 10}
LARGE = "x" * 5_000
TOO_LARGE = "`steps.each.result` has 50,0"


def source(*steps: dict, **more: object) -> str:
    return json.dumps({"name": "large", "workflow": [EACH, *steps], **more})


def after(**more: object) -> dict:
    return {"step": "last", "type": "python", "task": "t:t", "needs": ["each"], **more}


async def spread(hand, *steps: dict, result: str = LARGE, **more: object) -> int:
    """Runs a fan-out to its end. Each item gives this result."""
    id_ = await hand.submit(source(*steps, **more))
    for leased in by_item(await hand.lease()).values():
        await hand.succeed(leased, result)
    return id_


@pytest.mark.parametrize(
    "needy",
    [
        after(args={"all": "{{ steps.each.result }}"}),
        after(args={"first": "{{ steps.each.result[0] }}"}),
        after(args={"step": "{{ steps.each }}"}),
        after(args={"text": "all: {{ steps.each }}"}),
        after(args={"named": "{{ steps.each.result | default(1) }}"}),
        after(when="steps.each.result | length > 1"),
        after(when="steps['each']['result'] is defined"),
        after(for_each="{{ steps.each.result }}"),
        after(on_failure={"value": "{{ steps.each.result }}"}, args={"x": "{{ steps.each.result }}"}),
        {"step": "last", "type": "sleep", "for": "{{ steps.each.result }}", "needs": ["each"]},
    ],
    ids=lambda step: str(next(reversed(step.values()))),
)
async def test_what_needs_it_fails_and_names_the_step_the_size_and_the_setting(hand, needy):
    id_ = await spread(hand, needy)
    assert await hand.lease() == []
    await hand.settle_down()
    execution = await hand.get(id_)
    assert execution["status"] == "failed"
    failure = execution["failure"]
    assert (failure["class"], failure["reason"], failure["step"]) == ("invalid", "template_error", "last")
    assert TOO_LARGE in failure["message"]
    assert "`max_rendered`" in failure["message"]


async def test_outputs_that_need_it_fail_the_execution(hand):
    id_ = await spread(hand, outputs={"all": "{{ steps.each.result }}"})
    execution = await hand.get(id_)
    assert execution["failure"]["reason"] == "template_error"
    assert TOO_LARGE in execution["failure"]["message"]


async def test_what_does_not_need_it_goes_on(hand):
    args = {"status": "{{ steps.each.status }}", "failures": "{{ steps.each.failures }}"}
    id_ = await spread(
        hand,
        after(when="steps.each.status == 'completed'", args=args),
        outputs={"s": "{{ steps.each.status }}"},
    )
    last = await hand.lease_one()
    assert last.spec["args"] == {"status": "completed", "failures": []}
    await hand.succeed(last)
    assert (await hand.get(id_))["result"] == {"s": "completed"}


async def test_a_smaller_one_is_read(hand):
    id_ = await spread(hand, after(args={"all": "{{ steps.each.result }}"}), result="x" * 1_000)
    last = await hand.lease_one()
    assert last.spec["args"] == {"all": ["x" * 1_000] * 10}
    await hand.succeed(last)
    assert (await hand.get(id_))["steps"]["each"]["result"] == ["x" * 1_000] * 10


async def test_views_leave_it_out_and_say_where_it_is(hand):
    id_ = await spread(hand)
    execution = await hand.get(id_)
    assert execution["status"] == "completed"
    assert "tenax items" in execution["result"][LEFT_OUT]
    assert f"GET /v1/executions/{id_}/steps/each/items" in execution["steps"]["each"]["result"][LEFT_OUT]
    items = await hand.engine.items(id_, "each", states=None, after=-1, limit=100)
    assert [item.result == LARGE for item in items] == [True] * 3 + [False] * 7, "as much as may be shown"
    assert "after=2&limit=1" in items[3].result[LEFT_OUT]
    for n in range(10):
        [alone] = await hand.engine.items(id_, "each", states=None, after=n - 1, limit=1)
        assert (alone.item, alone.result) == (n, LARGE)


async def test_a_view_of_many_steps_shows_as_many_results_as_fit(hand):
    steps = [{"step": f"s{n:02}", "type": "python", "task": "t:t"} for n in range(10)]
    id_ = await hand.submit(json.dumps({"name": "many", "workflow": steps}))
    leased = {one.step: one for one in await hand.lease()}
    for name in sorted(leased):
        await hand.succeed(leased[name], LARGE)
    execution = await hand.get(id_)
    shown = [step["result"] == LARGE for step in execution["steps"].values()]
    assert shown[0]
    assert not shown[-1]
    assert shown == sorted(shown, reverse=True)
    [[stored]] = await hand.sql(f"select result::text from tenax.execution where id = {id_}")
    assert json.loads(stored) == {step["step"]: LARGE for step in steps}


async def test_a_fallback_lends_it_to_the_step_that_failed(hand):
    first = {"step": "first", "type": "python", "task": "t:t", "on_failure": {"step": "each"}}
    last = {"step": "last", "type": "python", "task": "t:t", "needs": ["first"]}
    id_ = await hand.submit(
        json.dumps(
            {"name": "lent", "workflow": [first, EACH, {**last, "args": {"x": "{{ steps.first.status }}"}}]}
        )
    )
    await hand.fail(await hand.lease_one(), failure_class="invalid")
    for leased in by_item(await hand.lease()).values():
        await hand.succeed(leased, LARGE)
    await hand.succeed(await hand.lease_one())
    assert await hand.status(id_) == "completed"
    [[stored]] = await hand.sql(
        f"select result::text from tenax.step where execution_id = {id_} and step = 'first'"
    )
    assert json.loads(stored) == [LARGE] * 10


async def test_a_parent_fails_whose_child_gives_it(hand):
    await hand.engine.store_workflow(source())
    id_ = await hand.submit("name: parent\nworkflow: [{step: call, type: workflow, workflow: large}]\n")
    await hand.settle_down()
    for leased in by_item(await hand.lease()).values():
        await hand.succeed(leased, LARGE)
    await hand.settle_down()
    failure = (await hand.get(id_))["failure"]
    assert (failure["class"], failure["reason"]) == ("invalid", "result_too_large")
    assert "`max_rendered`" in failure["message"]


@pytest.mark.settings(max_rendered=20_000)
async def test_results_that_no_value_can_hold_together_leave_a_marker_and_fail_a_parent(hand):
    """PostgreSQL holds up to 256 MB in one value."""
    steps = [{"step": f"s{n}", "type": "python", "task": "t:t"} for n in range(19)]
    await hand.engine.store_workflow(json.dumps({"name": "vast", "workflow": steps}))
    parent = await hand.submit("name: p\nworkflow: [{step: c, type: workflow, workflow: vast}]\n")
    await hand.settle_down()
    leased = await hand.lease(slots=19)
    child = leased[0].execution_id
    for assignment in leased[:-1]:
        await hand.succeed(assignment, 1)
    await hand.sql(
        "update tenax.step set result = to_jsonb(repeat('x', 15000000)) where execution_id = $1", child
    )
    await hand.succeed(leased[-1], 1)
    await hand.settle_down()
    execution = await hand.get(child)
    assert (execution["status"], list(execution["result"])) == ("completed", [LEFT_OUT])
    failure = (await hand.get(parent))["failure"]
    assert failure["reason"] == "result_too_large"
    assert "too large to be one value" in failure["message"]


@pytest.mark.parametrize("fan_out", [True, False], ids=["items", "steps"])
@pytest.mark.parametrize("folded", [0, 1000], ids=["counted", "folded"])
async def test_views_leave_out_the_evidence_of_failures(hand, monkeypatch, fan_out, folded):
    """The evidence of all attempts together could be any number of megabytes."""
    monkeypatch.setattr(executions, "ITEMS_FOLDED", folded)
    retry = {"max_attempts": 4, "initial_delay": 0, "jitter": 0}
    step = {"step": "a", "type": "python", "task": "t:t", "retry": retry}
    each = {**step, "for_each": list(range(4)), "parallelism": 4, "tolerate": "100%"}
    id_ = await hand.submit(
        json.dumps({"name": "failing", "workflow": [each if fan_out else step, {**EACH, "for_each": [1]}]})
    )
    while leased := await hand.lease():
        for one in leased:
            if one.step == "each":
                await hand.succeed(one)
            else:
                await hand.fail(one, exception="E", message="why", traceback="t" * 9_000)
    shown = json.dumps([await hand.get(id_), [to_builtins(e) for e in await hand.engine.explain(id_)]])
    assert '"message": "why"' in shown
    assert "its traceback, stderr, data and request" in shown
    assert len(shown) < 200_000
