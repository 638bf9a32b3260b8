"""Checks inputs against any schema: checks made at once are provably short, and the only error is a refusal."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.strategies.hostile_strategies import PATTERNS, SCHEMAS, STORABLE, assert_brief, fuzzed, no_hang

from tenax.engine.definitions.reading import Reading
from tenax.errors import InvalidDefinition, InvalidInput
from tenax.model.definition.workflow import Workflow
from tenax.model.inputs.inputs import check_input, is_checked_shortly
from tenax.model.inputs.schema_cost import cost_of, is_short, power_of, size_of
from tenax.model.parse.parse import parse_workflow
from tenax.settings import Settings

CALLS = 500
"""Calls of functions that every check makes."""
CALLS_OF_STEP = 700
"""Calls of functions for one keyword and one value, at most: an error shows 300 characters, looked at one by one."""
TEXTS = st.text("ab1-@.", max_size=40) | st.sampled_from(["a" * 40 + "!", "a" * 400, "1" * 3_000])
VALUES = st.recursive(
    TEXTS | STORABLE,
    lambda below: st.lists(below, max_size=30) | st.dictionaries(st.sampled_from("abc"), below, max_size=3),
    max_leaves=40,
)


def workflow_of(schema: Any) -> Workflow | None:
    document = {
        "name": "w",
        "input": {"x": schema},
        "workflow": [{"step": "a", "type": "python", "task": "t"}],
    }
    try:
        return parse_workflow(json.dumps(document), filename="w.yaml")
    except InvalidDefinition as refused:
        assert_brief(refused, 20_000)
        return None


def calls_of(work: Callable[[], Any]) -> int:
    """Counts the calls of functions in Python and in C that a piece of work makes."""
    count = 0

    def note(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def check(workflow: Workflow, value: Any) -> None:
    try:
        assert check_input(workflow, {"x": value}) == {"x": value}
    except InvalidInput as refused:
        assert_brief(refused, 30_000)


def steps_of(workflow: Workflow, value: Any) -> int:
    size = size_of(value)
    assert size is not None
    return cost_of(workflow.inputs["x"].schema).values * size.values


@pytest.fixture(scope="module")
def reading() -> Iterator[tuple[asyncio.Runner, Reading]]:
    with asyncio.Runner() as runner:
        made = Reading(Settings(input_time=0.3), None, 1_000_000)
        yield runner, made
        made.reader_processes.close()


@given(SCHEMAS, VALUES)
@fuzzed(200)
def test_a_check_is_short_or_made_aside(reading, schema, value):
    with no_hang():
        workflow = workflow_of(schema)
        if workflow is None:
            return
        if is_checked_shortly(workflow.inputs, {"x": value}):
            check(workflow, value)  # what is made at the first check, such as patterns, is kept
            assert calls_of(lambda: check(workflow, value)) <= CALLS + CALLS_OF_STEP * steps_of(
                workflow, value
            )
            return
        runner, made = reading
        try:
            assert runner.run(made.check(workflow, {"x": value})) == {"x": value}
        except InvalidInput as refused:
            assert_brief(refused, 30_000)


@given(
    st.recursive(
        SCHEMAS | STORABLE,
        lambda below: st.dictionaries(st.text(max_size=5), below, max_size=4),
        max_leaves=10,
    )
)
@fuzzed(50)
def test_the_cost_of_anything_is_known(schema):
    cost = cost_of(schema)
    size = size_of(schema)
    assert size is not None
    assert cost.values <= size.values
    is_short(cost, size)


PIECES = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", ".", "[ab]", r"\d", r"\w", "[^a]", r"\."]),
        st.sampled_from(["", "", "*", "+", "?", "{2}", "{1,3}", "{,2}", "{2,}"]),
    ),
    max_size=5,
)


@given(PIECES, st.booleans(), st.booleans(), st.text("ab1.", max_size=12))
@fuzzed(100)
def test_a_pattern_takes_no_more_steps_than_its_power_says(pieces, begins, ends, text):
    pattern = "^" * begins + "".join(piece + repeat for piece, repeat in pieces) + "$" * ends
    power = power_of(pattern)
    assert power is not None
    found, steps = searched(pattern, text)
    assert found == bool(re.search(pattern, text))
    assert steps <= (len(pieces) + 3) * (len(text) + 1) ** power


@given(PATTERNS | st.text(r"ab[](){}*+?|^$\d.,1-", max_size=10))
@fuzzed(100)
def test_a_pattern_of_known_power_is_a_sequence(pattern):
    """Nothing nested, no alternatives and no references: only those have a power."""
    power = power_of(pattern)
    assume(power is not None)
    try:
        parsed = re._parser.parse(pattern)  # type: ignore[attr-defined]
    except re.error:
        return
    names = {str(name) for name, _ in parsed}
    assert names <= {"LITERAL", "NOT_LITERAL", "ANY", "IN", "MAX_REPEAT", "AT", "MIN_REPEAT"}
    for name, argument in parsed:
        if "REPEAT" in str(name):
            assert {str(inner) for inner, _ in argument[2]} <= {"LITERAL", "NOT_LITERAL", "ANY", "IN"}
    assert sum("REPEAT" in str(name) for name, _ in parsed) < power


def searched(pattern: str, text: str) -> tuple[bool, int]:
    """Searches as a backtracking matcher does, and counts its steps."""
    parsed = list(re._parser.parse(pattern))  # type: ignore[attr-defined]
    steps = 0

    def fits(piece: Any, at: int) -> bool:
        return re.compile(_alone(piece)).fullmatch(text, at, at + 1) is not None

    def match(number: int, at: int) -> bool:
        nonlocal steps
        steps += 1
        if number == len(parsed):
            return True
        name, argument = parsed[number]
        match str(name):
            case "AT":
                wanted = (
                    at == 0
                    if str(argument) == "AT_BEGINNING"
                    else at in (len(text), len(text) - text.endswith("\n"))
                )
                return wanted and match(number + 1, at)
            case "MAX_REPEAT":
                least, most, inner = argument
                ends = [at]
                while ends[-1] < len(text) and len(ends) <= most and fits(inner[0], ends[-1]):
                    ends.append(ends[-1] + 1)
                return any(
                    match(number + 1, end) for count, end in reversed(list(enumerate(ends))) if count >= least
                )
            case _:
                return at < len(text) and fits(parsed[number], at) and match(number + 1, at + 1)

    return any(match(0, begin) for begin in range(len(text) + 1)), steps


def _alone(piece: Any) -> str:
    """The pattern of one parsed character or class."""
    name, argument = piece
    match str(name):
        case "LITERAL":
            return re.escape(chr(argument))
        case "NOT_LITERAL":
            return f"[^{re.escape(chr(argument))}]"
        case "ANY":
            return "."
        case _:
            inner = "".join(_in_class(part) for part in argument)
            return f"[{inner}]"


def _in_class(part: Any) -> str:
    name, argument = part
    match str(name):
        case "NEGATE":
            return "^"
        case "LITERAL":
            return re.escape(chr(argument))
        case "CATEGORY":
            return {"CATEGORY_DIGIT": r"\d", "CATEGORY_WORD": r"\w"}[str(argument)]
        case _:
            return f"{chr(argument[0])}-{chr(argument[1])}"
