"""Tests which steps always have the same consequence when they succeed at once. Steps whose consequence may vary are not among them."""

from __future__ import annotations

import pytest

from tenax.model.parse.parse import parse_workflow
from tenax.policy.plan import make_plan

END = None


def fixed_successors(*steps: str, top: str = "") -> dict[str, str | None]:
    """By step what follows; steps are written `a`, `b<a`, `c<a,b`, with more keys behind a bar: `c<a | when: x`."""
    lines = ["name: w", top, "workflow:"]
    for step in steps:
        head, _, more = (part.strip() for part in step.partition("|"))
        name, _, needs = head.partition("<")
        of = "" if more.startswith("type:") else "type: python, task: 't:t', "
        lines.append(f"  - {{step: {name}, needs: [{needs}], {of}{more}}}")
    plan = make_plan(parse_workflow("\n".join(lines)), None)
    return {name: stride.next for name, stride in plan.fixed_successors.items()}


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (["a"], {"a": END}),
        (["a", "b<a", "c<b"], {"a": "b", "b": "c", "c": END}),
        (["c<b", "b<a", "a"], {"a": "b", "b": "c", "c": END}),
        (["a", "b"], {}),
        (["a", "b", "c<a,b"], {"c": END}),
        (["a", "b", "c<a,b", "d<c"], {"c": "d", "d": END}),
        (["a", "b<a", "c<a"], {}),
        (["a", "b<a", "c<a", "d<b,c"], {"d": END}),
        (["a", "b<a", "c", "d<c"], {"a": "b", "c": "d"}),
    ],
    ids=[
        "one",
        "chain",
        "chain in another order",
        "two ends",
        "join",
        "behind a join",
        "two dependents",
        "diamond",
        "two chains",
    ],
)
def test_by_the_graph_alone(steps, expected):
    assert fixed_successors(*steps) == expected


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("when: steps.a.result", {"b": "c", "c": END}),
        ("for_each: [1, 2]", {"c": END}),
        ("until: {condition: result, delay: 1s}", {"a": "b", "c": END}),
        ("concurrency: {limit: 1}", {"c": END}),
        ("type: http, url: 'http://h/', async: {deadline: 1h}", {"a": "b", "c": END}),
        ("type: http, url: 'http://h/'", {"a": "b", "b": "c", "c": END}),
        ("type: sleep, for: 1s", {"b": "c", "c": END}),
        ("type: wait, signal: go", {"b": "c", "c": END}),
        ("type: workflow, workflow: other", {"b": "c", "c": END}),
        ("on_failure: continue", {"a": "b", "b": "c", "c": END}),
        ("on_failure: {value: 1}", {"a": "b", "b": "c", "c": END}),
        ("compensate: {type: python, task: 't:u'}", {"a": "b", "b": "c", "c": END}),
        ("retry: {max_attempts: 3, vary: [{args: {x: 1}}]}", {"a": "b", "b": "c", "c": END}),
        (
            "priority: 9, queue: q, labels: {zone: x}, timeout: 5s, queue_ttl: 1h",
            {"a": "b", "b": "c", "c": END},
        ),
    ],
)
def test_by_what_the_step_in_the_middle_asks_for(more, expected):
    assert fixed_successors("a", f"b<a | {more}", "c<b") == expected


@pytest.mark.parametrize(
    "more", ["for_each: [1]", "until: {condition: result, delay: 1s}", "concurrency: {limit: 1}"]
)
def test_an_only_step_that_is_demanding_has_none(more):
    assert fixed_successors(f"a | {more}") == {}


def test_an_only_step_that_may_be_skipped_has_one_once_it_runs():
    assert fixed_successors("a | when: input.x", top="input: {x: {default: 1}}") == {"a": END}


def test_a_fallback_and_what_it_stands_in_for_have_none():
    assert fixed_successors("a | on_failure: {step: f}", "f<a") == {}
    assert fixed_successors("a | on_failure: {step: f}", "f<a", "b<a") == {"b": END}, "b waits for both"
    assert fixed_successors("a", "b<a | on_failure: {step: f}", "f<b", "c<b") == {"a": "b", "c": END}


def test_only_the_one_goal_ends_the_execution():
    assert fixed_successors("a | goal: true", "b<a") == {"a": "b"}, (
        "b runs on, and its end is decided step by step"
    )
    assert fixed_successors("a", "b | goal: true") == {"b": END}, (
        "if it is the last that is open: the statement sees to that"
    )
    assert fixed_successors("a | goal: true", "b | goal: true") == {}


def test_outputs_are_rendered_so_the_last_step_has_none():
    assert fixed_successors("a", "b<a", top="outputs: {x: '{{ steps.b.result }}'}") == {"a": "b"}
