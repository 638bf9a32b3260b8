"""Tests the template of `concurrency`: the names that it may read, and what the plan makes of it."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tenax.errors import InvalidDefinition
from tenax.model.definition.workflow import Workflow
from tenax.policy.check import load_workflow
from tenax.policy.plan import PlannedStep, action_limit_name, make_plan


def load(keys: str) -> Workflow:
    text = f"""\
        name: w
        input: {{customer: {{type: string}}, orders: {{type: array}}}}
        workflow:
          - {{step: first, type: python, task: t}}
          - {{step: other, type: python, task: t}}
          - {{step: a, type: process, needs: first, command: ls, {keys}}}
    """
    return load_workflow(dedent(text), filename="w.yaml")


def planned(keys: str) -> PlannedStep:
    return make_plan(load(keys), None).steps["a"]


@pytest.mark.parametrize(
    ("keys", "read", "scope", "value"),
    [
        ("concurrency: {limit: 1, key: '{{ input.customer }}'}", (), {"input": {"customer": "ada"}}, "ada"),
        (
            "concurrency: {limit: 1, key: '{{ steps.first.result.zone }}-{{ execution_id }}'}",
            ("first",),
            {"steps": {"first": {"result": {"zone": "eu"}}}, "execution_id": 7},
            "eu-7",
        ),
        (
            "for_each: '{{ input.orders }}', concurrency: {limit: 9, key: '{{ item.to }}{{ index }}', key_limit: 1}",
            (),
            {"item": {"to": "ben"}, "index": 3},
            "ben3",
        ),
    ],
)
def test_the_key_of_an_item(keys, read, scope, value):
    step = planned(keys)
    assert step.concurrency_reads == read
    assert step.concurrency_key is not None
    assert step.concurrency_key.render(scope).value == value


@pytest.mark.parametrize("keys", ["priority: 3", "concurrency: 5", "concurrency: {limit: 5, action: api}"])
def test_without_a_key_there_is_nothing_to_render(keys):
    step = planned(keys)
    assert (step.concurrency_key, step.concurrency_reads) == (None, ())


@pytest.mark.parametrize(
    ("keys", "name"),
    [
        ("concurrency: 5", "step:w/a"),
        ("concurrency: {limit: 5, action: api}", "action:api"),
        ("concurrency: {limit: 5, key: '{{ input.customer }}'}", "step:w/a"),
    ],
)
def test_what_items_are_counted_under(keys, name):
    workflow = load(keys)
    assert action_limit_name(workflow.name, workflow.steps[2]) == name


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("{{ input.custmer }}", "unknown input `custmer`; did you mean `customer`?"),
        ("{{ steps.frist.result }}", "unknown step `frist`; did you mean `first`?"),
        ("{{ steps.other.result }}", "the step `other` does not run before this one; add it to `needs`"),
        ("{{ steps.a.result }}", "the step `a` cannot read its own result"),
        ("{{ item }}", "`item` is there only in a step with `for_each`, which this one does not have"),
        ("{{ attempt }}", "`attempt` is there only in the keys of a step's type and in `compensate`, not in"),
        ("{{ secret.X }}", "a secret cannot stand in `concurrency`: only workers know secrets"),
        ("{{ previous }}", "`previous`, the last result, is there only in the keys of a step with `until`"),
        ("{{ result }}", "`result` is there only in `compensate`"),
        ("{{ 1 +", "an opening {{ has no closing }}"),
        ("{{ 'all' }}", "it reads nothing, and so is the same for all: a limit that steps share is named by"),
    ],
)
def test_what_is_not_in_reach(key, expected):
    with pytest.raises(InvalidDefinition) as raised:
        load(f'concurrency: {{limit: 1, key: "{key}"}}')
    [found] = [str(finding) for finding in raised.value.findings]
    assert found.startswith("w.yaml:6:")
    assert f"workflow[2].concurrency.key: {expected}" in found


def test_a_wrong_limit_does_not_hide_a_wrong_key():
    with pytest.raises(InvalidDefinition) as raised:
        load("concurrency: {limit: 0, key: '{{ input.nope }}'}")
    assert [finding.path for finding in raised.value.findings] == [
        "workflow[2].concurrency.limit",
        "workflow[2].concurrency.key",
    ]
