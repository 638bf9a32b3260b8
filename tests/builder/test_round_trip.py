"""Tests that a workflow of Python and the same file are one definition, or are refused for the same reasons."""

from __future__ import annotations

import json
from textwrap import dedent
from typing import Any

import pytest
from builder import builder_tasks as tasks
from hypothesis import assume, given
from hypothesis import strategies as st
from support.strategies.hostile_strategies import WORKFLOWS, fuzzed, mutated
from support.strategies.workflow_texts import EVERYTHING, FLOW

from tenax import Workflow
from tenax.errors import InvalidDefinition
from tenax.model.definition.workflow import Workflow as Definition
from tenax.model.source.yaml_source import read_source
from tenax.policy.check import load_workflow

FILES = [*WORKFLOWS, dedent(EVERYTHING), dedent(FLOW)]
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0{}"), max_size=20)
DATA = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(TEXTS.filter(lambda key: key not in ("", "<<")), inner, max_size=3)
    ),
    max_leaves=8,
)


def data_of(text: str) -> dict[str, Any]:
    data: dict[str, Any] = read_source(text).data
    return data


def built(document: dict[str, Any]) -> Workflow:
    """Builds a file by the calls that a person would write."""
    keys = {key: value for key, value in document.items() if key not in ("name", "workflow")}
    made = Workflow(document["name"], **keys)
    for step in document["workflow"]:
        own = {key: value for key, value in step.items() if key not in ("step", "type")}
        made.step(step["step"], type=step.get("type", "action"), **own)
    return made


def is_buildable(document: Any) -> bool:
    """Returns whether the file can be written as calls: Python itself refuses the others."""
    if not isinstance(document, dict) or not isinstance(document.get("workflow"), list):
        return False
    steps = document["workflow"]
    if not isinstance(document.get("name"), str) or not all(isinstance(step, dict) for step in steps):
        return False
    names = [step.get("step") for step in steps]
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        return False
    try:
        json.dumps(document, allow_nan=False)
    except ValueError:  # the builder refuses a NaN, which a JSON file has as a text
        return False
    inputs = document.get("input", {})
    return isinstance(inputs, dict) and all(isinstance(each, dict) for each in inputs.values())


@pytest.mark.parametrize("text", FILES)
def test_a_file_and_the_same_calls_are_one_definition(text: str) -> None:
    assert load_workflow(built(data_of(text)).to_yaml()) == load_workflow(json.dumps(data_of(text)))


@given(st.sampled_from([data_of(text) for text in FILES]).flatmap(mutated))
@fuzzed(150)
def test_calls_are_accepted_and_refused_as_the_file_is(document: Any) -> None:
    assume(is_buildable(document))
    try:
        expected = load_workflow(json.dumps(document))
    except (InvalidDefinition, ValueError) as refused:
        _refused_too(document, refused)
        return
    assert load_workflow(built(document).to_yaml()) == expected


def _refused_too(document: Any, refused: Exception) -> None:
    """Checks that the builder refuses what the reader refuses, unless a missing `needs` was the only mistake."""
    findings = refused.findings if isinstance(refused, InvalidDefinition) else ()
    if findings and all("add it to `needs`" in one.message for one in findings):
        return
    with pytest.raises((InvalidDefinition, TypeError)):
        built(document).to_yaml()


NAMES = st.lists(st.from_regex(r"[a-z][a-z0-9_-]{0,8}", fullmatch=True), min_size=1, max_size=6, unique=True)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Workflow, dict[str, set[str]], dict[str, Any]]:
    """Draws a workflow of tasks, the steps that each one reads or needs, and their plain arguments."""
    wf = Workflow("drawn")
    steps: dict[str, Any] = {}
    before: dict[str, set[str]] = {}
    given_args: dict[str, Any] = {}
    for name in draw(NAMES):
        reads = draw(st.lists(st.sampled_from(sorted(steps)), max_size=3, unique=True)) if steps else []
        needs = draw(st.lists(st.sampled_from(sorted(steps)), max_size=2, unique=True)) if steps else []
        args = {f"a{index}": value for index, value in enumerate(draw(st.lists(DATA, max_size=3)))}
        later = {f"r{index}": steps[read].result.value for index, read in enumerate(reads)}
        more = {"needs": [steps[need] for need in needs]} if needs else {}
        steps[name] = wf.step(tasks.collect, step=name, **args, **later, **more)
        before[name] = {*reads, *needs}
        given_args[name] = args
    return wf, before, given_args


@given(graphs())
@fuzzed(100)
def test_arguments_and_dependencies_are_those_of_the_calls(
    drawn: tuple[Workflow, dict[str, set[str]], dict[str, Any]],
) -> None:
    wf, before, given_args = drawn
    loaded = load_workflow(wf.to_yaml())
    ancestors = _ancestors(loaded)
    for step in loaded.steps:
        assert before[step.name] <= ancestors[step.name]
        plain = {name: value for name, value in step.spec["args"].items() if not name.startswith("r")}
        assert plain == given_args[step.name]
    assert ancestors == _closed(before)


def _ancestors(workflow: Definition) -> dict[str, set[str]]:
    return _closed({step.name: set(step.needs) for step in workflow.steps})


def _closed(before: dict[str, set[str]]) -> dict[str, set[str]]:
    """Returns all steps before each one. The steps are in an order in which none comes before what it needs."""
    closed: dict[str, set[str]] = {}
    for name, needs in before.items():
        closed[name] = needs.union(*(closed[need] for need in needs))
    return closed
