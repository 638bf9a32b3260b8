"""Tests how steps are bound to actions: the levels of the policy, the timeout, and the parameters."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tenax.model.definition.workflow import COMPENSATION, Input, Workflow
from tenax.model.packs.action import ActionDefinition, BoundAction
from tenax.policy.check import load_workflow
from tenax.policy.packs.bind import action_references, parameter_problems
from tenax.policy.plan import make_plan, restore_plan

CALL = BoundAction(
    "core",
    "0" * 64,
    ActionDefinition(
        "call",
        "process",
        command="docker ps --format '{{.ID}} {% raw %}'",
        env={"A{{": "{{ input.x }}"},
        parameters={
            "url": Input({"type": "string"}, required=True),
            "times": Input({"type": "integer", "minimum": 1}, has_default=True, default=1),
        },
    ),
)


def bound(**changes: Any) -> BoundAction:
    from dataclasses import replace

    return replace(CALL, definition=replace(CALL.definition, **changes))


def flow(step: dict[str, Any], **top: Any) -> Workflow:
    body = {"step": "s", "action": "core.call", "params": {"url": "x"}, **step}
    return load_workflow(json.dumps({"name": "w", "workflow": [body], **top}))


@pytest.mark.parametrize(
    ("step", "action", "defaults", "server", "expected"),
    [
        (None, None, None, None, {"max_attempts": 1}),
        (None, {"max_attempts": 4}, None, None, {"max_attempts": 4}),
        (2, {"max_attempts": 4}, 5, {"max_attempts": 6}, {"max_attempts": 2}),
        (None, {"max_attempts": 4}, 5, {"max_attempts": 6}, {"max_attempts": 4}),
        (None, None, 5, {"max_attempts": 6}, {"max_attempts": 5}),
        (
            {"backoff": "fixed"},
            {"max_attempts": 4, "initial_delay": 7.0},
            {"initial_delay": 9, "jitter": 0},
            {"max_delay": 1000.0},
            {"backoff": "fixed", "max_attempts": 4, "initial_delay": 7.0, "jitter": 0.0, "max_delay": 1000.0},
        ),
        # `false` is one attempt and ends the search, at whichever level it stands.
        (
            None,
            False,
            {"initial_delay": 9},
            None,
            {"max_attempts": 1, "infra_attempts": 0, "initial_delay": 1.0},
        ),
        (
            {"initial_delay": 2},
            False,
            5,
            None,
            {"max_attempts": 1, "infra_attempts": 0, "initial_delay": 2.0},
        ),
        (False, {"max_attempts": 4}, None, None, {"max_attempts": 1, "infra_attempts": 0}),
        (True, {"max_attempts": 4}, None, None, {"max_attempts": 4}),
        (None, True, None, None, {"max_attempts": 3}),
    ],
)
def test_the_policy_of_an_action_is_a_level_between_step_and_workflow(
    step: Any, action: Any, defaults: Any, server: Any, expected: dict[str, Any]
) -> None:
    workflow = flow(
        {} if step is None else {"retry": step},
        **({} if defaults is None else {"defaults": {"retry": defaults}}),
    )
    plan = make_plan(workflow, server, bound={"s": bound(retry=action)})
    policy = plan.steps["s"].policy.policy.as_dict()
    assert {key: policy[key] for key in expected} == expected


@pytest.mark.parametrize(
    ("step", "action", "defaults", "expected"),
    [
        (None, None, None, 300.0),
        (None, 120.0, None, 120.0),
        (None, 120.0, "7m", 120.0),
        (None, None, "7m", 420.0),
        ("9s", 120.0, "7m", 9.0),
        ("5m", 120.0, None, 300.0),
    ],
)
def test_the_timeout_of_an_action_is_between_step_and_workflow(
    step: Any, action: Any, defaults: Any, expected: float
) -> None:
    workflow = flow(
        {} if step is None else {"timeout": step}, **({"defaults": {"timeout": defaults}} if defaults else {})
    )
    planned = make_plan(workflow, None, bound={"s": bound(timeout=action)}).steps["s"]
    assert planned.step.timeout == planned.queued.timeout == expected


def test_a_compensation_has_the_policy_and_the_timeout_of_its_action() -> None:
    undo = {"action": "core.call", "params": {"url": "y"}}
    workflow = flow({"compensate": undo})
    assert [one.place for one in action_references(workflow)] == ["s", COMPENSATION + "s"]
    plan = make_plan(
        workflow, None, bound={"s": CALL, COMPENSATION + "s": bound(timeout=7.0, retry={"max_attempts": 9})}
    )
    undoing = plan.action("s", compensates=True)
    assert (undoing.step.timeout, undoing.policy.policy.max_attempts) == (7.0, 9)
    assert plan.action("s", compensates=False).step.timeout == 300.0


def test_the_descriptor_comes_through_templates_as_it_is() -> None:
    plan = make_plan(flow({"params": {"url": "{{ input.u }}"}}, input={"u": {}}), None, bound={"s": CALL})
    rendered = plan.steps["s"].specs[0].render({"input": {"u": "http://x"}, "steps": {}}).value
    assert rendered["params"] == {"url": "http://x"}
    described = json.loads(rendered["pack"])
    assert described["command"] == CALL.definition.command
    assert described["env"] == {"A{{": "{{ input.x }}"}
    assert described["hash"] == CALL.hash


def test_the_content_is_part_of_the_plan() -> None:
    workflow = flow({})
    one = make_plan(workflow, None, bound={"s": CALL})
    other = make_plan(workflow, None, bound={"s": BoundAction("core", "1" * 64, CALL.definition)})
    assert one.workflow_hash == other.workflow_hash
    assert one.hash != other.hash
    assert (one.packs, other.packs) == (("0" * 64,), ("1" * 64,))
    policies = {name: action.policy.policy for name, action in one.actions.items()}
    assert restore_plan(workflow, policies, bound=one.bound).hash == one.hash


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"url": "x"}, []),
        ({"url": "{{ steps.a.result }}", "times": "{{ 1 }}"}, []),
        ("{{ input }}", []),
        ({}, ["url: required, but not given"]),
        ({"url": 3}, ["url: expected string, found a number (3)"]),
        ({"url": "x", "times": 0}, ["times: 0 is less than the minimum of 1"]),
        ({"url": "x", "tims": 1}, ["tims: there is no such parameter; did you mean `times`?"]),
        ({"url": "x", "tims": "{{ input.n }}"}, ["tims: there is no such parameter; did you mean `times`?"]),
    ],
)
def test_parameters_that_are_known_before_are_checked(params: Any, expected: list[str]) -> None:
    from dataclasses import replace

    [step] = flow({}).steps
    found = parameter_problems(replace(step, spec={**step.spec, "params": params}), CALL)
    assert len(found) == len(expected)
    assert all(one.startswith(start) for one, start in zip(found, expected, strict=True)), found


def test_a_missing_parameter_may_come_from_vary() -> None:
    workflow = flow({"params": {}, "retry": {"max_attempts": 2, "vary": [{"params": {"url": "x"}}]}})
    assert parameter_problems(workflow.steps[0], CALL) == []
    rendered = make_plan(workflow, None, bound={"s": CALL}).steps["s"].specs[1].render({}).value
    assert rendered["params"] == {"url": "x"}
    assert json.loads(rendered["pack"])["pack"] == "core"
