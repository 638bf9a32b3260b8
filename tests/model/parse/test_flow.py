"""Tests how valid files with fan-outs, children, waits and failures are read."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from textwrap import dedent

import pytest
from support.strategies.workflow_texts import FLOW

from tenax.model.attempt.reasons import is_known_reason
from tenax.model.definition.children import child_references
from tenax.model.definition.vary import merge_override
from tenax.model.definition.workflow import OnFailure, Step, Tolerance, Until, Workflow
from tenax.model.parse.parse import parse_workflow, workflow_hash
from tenax.model.times import parse_time


def parse(text: str) -> Workflow:
    return parse_workflow(dedent(text), filename="w.yaml")


STEPS = {step.name: step for step in parse(FLOW).steps}


def test_canonical_form_survives_json():
    workflow = parse(FLOW)
    again = Workflow.from_dict(json.loads(json.dumps(workflow.as_dict())))
    assert again == workflow
    assert workflow_hash(again) == workflow_hash(workflow)


def test_fan_out():
    charge, page = STEPS["charge"], STEPS["page"]
    assert (charge.for_each, charge.parallelism) == ("{{ input.orders }}", 20)
    assert charge.tolerate == Tolerance(percent=2.5)
    assert (page.for_each, page.parallelism, page.tolerate) == ([1, [2], {"three": 3}], 1, Tolerance(1))
    assert [(t.allowed(200), t.allowed(10)) for t in (Tolerance(3), Tolerance(percent=2.5))] == [
        (3, 3),
        (5, 0),
    ]


@pytest.mark.parametrize("total", [10, 1_000, 10_000, 100_000])
def test_a_percentage_is_exact(total):
    shares = [hundredths / 100 for hundredths in range(0, 10_001, 7)]
    allowed = [Tolerance(percent=share).allowed(total) for share in shares]
    assert allowed == [total * hundredths // 10_000 for hundredths in range(0, 10_001, 7)]


def test_an_empty_list_is_a_fan_out_all_the_same():
    (step,) = parse("{name: w, workflow: [{step: a, type: python, task: t, for_each: []}]}").steps
    assert step.for_each == []
    assert Step.from_dict(step.as_dict()) == step


def test_until():
    assert STEPS["poll"].until == Until("{{ result.done }}", delay=0.25, max_polls=None, deadline=7200.0)
    assert STEPS["page"].until == Until("not data.next", delay=5.0, max_polls=1000, deadline=None)


def test_on_failure():
    given = {name: step.on_failure for name, step in STEPS.items() if step.on_failure is not None}
    assert given == {
        "charge": OnFailure("step", step="invoice"),
        "paid": OnFailure("continue"),
        "pack": OnFailure("value", value={"boxes": 0}),
    }


def test_compensate_is_an_action_by_the_name_of_its_step():
    assert STEPS["charge"].compensate == Step(
        "charge",
        "python",
        {"task": "refund", "args": ["{{ result }}"]},
        timeout=60.0,
        queue="slow",
        queue_ttl=3600.0,
        priority=2,
        labels={"zone": "eu"},
        retry={"max_attempts": 5},
    )


def test_what_the_server_carries_out():
    specs = {name: STEPS[name].spec for name in ("nap", "dawn", "later", "approve", "paid", "ship", "pack")}
    assert specs == {
        "nap": {"for": 300.0},
        "dawn": {"at": "2030-01-31T06:00:00+01:00"},
        "later": {"for": "{{ input.orders | length }}"},
        "approve": {"signal": None, "deadline": 172800.0},
        "paid": {"signal": "paid-{{ execution_id }}", "deadline": None},
        "ship": {"workflow": "shipping@1.10", "input": {"order": "{{ input.orders }}"}},
        "pack": {"file": "parts/pack.yaml", "input": {}},
    }
    assert STEPS["charge"].spec["async"] == {"deadline": 3600.0}


def test_the_defaults_for_workers_do_not_reach_what_needs_none():
    found = {
        name: (s.timeout, s.queue, s.queue_ttl, s.priority) for name, s in STEPS.items() if s.type == "sleep"
    }
    assert set(found.values()) == {(None, "default", None, 5)}
    assert (STEPS["ship"].timeout, STEPS["pack"].timeout) == (86400.0, None)


def test_vary_is_kept_in_the_form_of_the_steps_own_keys():
    retry = STEPS["charge"].retry
    assert isinstance(retry, dict)
    assert [json.loads(entry) for entry in retry["vary"]] == [
        {},
        {"url": "http://other/{{ index }}", "method": "PUT", "headers": {"X-Try": "2"}},
    ]


@pytest.mark.parametrize(
    ("base", "override", "merged"),
    [
        ({"a": 1}, {}, {"a": 1}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"c": 3, "d": None}}, {"a": {"b": 1, "c": 3, "d": None}}),
        ({"a": {"b": 1}}, {"a": [1]}, {"a": [1]}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": "{{ x }}"}, {"a": {"b": 1}, "c": 1}, {"a": {"b": 1}, "c": 1}),
    ],
)
def test_mappings_merge_and_all_else_replaces(base, override, merged):
    assert merge_override(base, override) == merged


def test_children():
    assert child_references(parse(FLOW)) == (
        ("ship", "workflow", "shipping@1.10"),
        ("pack", "file", "parts/pack.yaml"),
    )


NEEDS = {
    "who waits for a step waits for its fallback": (
        (
            "{step: a, type: python, task: t, on_failure: {step: f}}, {step: b, type: python, task: t, needs: a},"
            "{step: f, type: python, task: t}"
        ),
        {"a": (), "b": ("a", "f"), "f": ("a",)},
    ),
    "and for the fallback of that": (
        (
            "{step: f, type: python, task: t, on_failure: {step: g}}, {step: g, type: python, task: t},"
            "{step: a, type: python, task: t, on_failure: {step: f}, next: b}, {step: b, type: python, task: t}"
        ),
        {"f": ("a",), "g": ("f",), "a": (), "b": ("a", "f", "g")},
    ),
    "what is written out is not there twice": (
        (
            "{step: a, type: python, task: t, on_failure: {step: f}}, {step: f, type: python, task: t, needs: [z, a]},"
            "{step: z, type: python, task: t}, {step: b, type: python, task: t, needs: [f, a]}"
        ),
        {"a": (), "f": ("z", "a"), "z": (), "b": ("f", "a")},
    ),
}


@pytest.mark.parametrize("case", NEEDS)
def test_fallbacks_become_needs(case):
    steps, needs = NEEDS[case]
    assert {step.name: step.needs for step in parse(f"{{name: w, workflow: [{steps}]}}").steps} == needs


@pytest.mark.parametrize(
    "text", ["2030-01-31T05:00:00Z", "2030-01-31 06:00:00.000000+01:00", "2030-01-31t05:00:00.0z"]
)
def test_times(text):
    assert parse_time(text) == datetime(2030, 1, 31, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["", "2030-01-31", "2030-01-31T05:00Z", "2030-13-01T00:00:00Z", 5, None, "x" * 9999]
)
def test_what_is_no_time(text):
    with pytest.raises(ValueError, match="is not a time") as refused:
        parse_time(text)
    assert len(str(refused.value)) < 250


@pytest.mark.parametrize(
    "reason",
    [
        "until_limit",
        "wait_deadline",
        "rejected",
        "child_failed",
        "child_cancelled",
        "callback_deadline",
        "no_callback_url",
    ],
)
def test_reasons_of_what_takes_long(reason):
    assert is_known_reason(reason)
