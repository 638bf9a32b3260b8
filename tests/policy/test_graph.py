from __future__ import annotations

from dataclasses import replace

import pytest

from tenax.model.definition.workflow import OnFailure, Step, Workflow
from tenax.policy.graph import Ancestry, dependents_of, fallbacks_of, goals_of, topological_order


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


def with_fallbacks(
    needs: dict[str, list[str]], fallbacks: dict[str, str], goals: tuple[str, ...] = ()
) -> Workflow:
    steps = workflow(needs, goals).steps
    return Workflow(
        "w",
        tuple(
            replace(step, on_failure=OnFailure("step", step=fallbacks[step.name]))
            if step.name in fallbacks
            else step
            for step in steps
        ),
    )


@pytest.mark.parametrize(
    ("needs", "fallbacks", "marked", "goals"),
    [
        ({"a": [], "f": ["a"]}, {"a": "f"}, (), ("a", "f")),
        ({"a": [], "b": ["a", "f"], "f": ["a"]}, {"a": "f"}, (), ("b",)),
        ({"a": [], "b": ["a", "f"], "f": ["a"]}, {"a": "f"}, ("a",), ("a", "f")),
        ({"a": [], "f": ["a"], "then": ["f"]}, {"a": "f"}, (), ("a", "f", "then")),
        ({"g": ["f"], "f": ["a"], "a": []}, {"a": "f", "f": "g"}, ("a",), ("g", "f", "a")),
        ({"a": [], "f": ["a"], "b": []}, {"a": "f"}, ("b",), ("b",)),
    ],
)
def test_the_fallback_of_a_goal_is_a_goal(needs, fallbacks, marked, goals):
    graph = with_fallbacks(needs, fallbacks, marked)
    assert fallbacks_of(graph) == fallbacks
    assert goals_of(graph) == goals


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
