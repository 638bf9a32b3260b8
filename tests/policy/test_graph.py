from __future__ import annotations

import pytest

from tenax.model.definition import Step, Workflow
from tenax.policy.graph import (
    Ancestry,
    dependents_of,
    goals_of,
    topological_order,
)


def workflow(needs: dict[str, list[str]], goals: tuple[str, ...] = ()) -> Workflow:
    steps = tuple(
        Step(name, "python", {"task": "t"}, tuple(of), goal=name in goals) for name, of in needs.items()
    )
    return Workflow("w", steps)


DIAMOND = {"join": ["left", "right"], "left": ["top"], "right": ["top"], "top": [], "alone": []}


def test_dependents():
    assert dependents_of(workflow(DIAMOND)) == {
        "join": [],
        "left": ["join"],
        "right": ["join"],
        "top": ["left", "right"],
        "alone": [],
    }


def test_topological_order_starts_with_what_needs_nothing():
    assert topological_order(workflow(DIAMOND)) == ["top", "alone", "left", "right", "join"]


def test_no_order_in_a_circle():
    with pytest.raises(ValueError, match="in a circle, or for such a step: a, b, c"):
        topological_order(workflow({"a": ["b"], "b": ["a"], "c": ["b"], "d": []}))


def test_goals_are_the_last_steps_unless_marked():
    assert goals_of(workflow(DIAMOND)) == ("join", "alone")
    assert goals_of(workflow(DIAMOND, goals=("left",))) == ("left",)


def test_what_runs_before_a_step():
    ancestry = Ancestry(workflow(DIAMOND))
    before = {later: {name for name in DIAMOND if ancestry.runs_before(name, later)} for later in DIAMOND}
    assert before == {
        "top": set(),
        "left": {"top"},
        "right": {"top"},
        "join": {"left", "right", "top"},
        "alone": set(),
    }


def test_a_chain_of_ten_thousand():
    names = [f"s{i}" for i in range(10_000)]
    chain = workflow({name: names[i - 1 : i] if i else [] for i, name in enumerate(names)})
    assert topological_order(chain) == names
    assert goals_of(chain) == ("s9999",)
    assert Ancestry(chain).runs_before("s0", "s9999")
