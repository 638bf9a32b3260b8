"""Tests input schemas that are valid JSON Schema, but that no check can use. They are refused with a reason, at the latest with the input."""

from __future__ import annotations

import json

import pytest

from tenax.errors import InvalidDefinition, InvalidInput
from tenax.model.definition.workflow import Workflow
from tenax.model.inputs.inputs import check_input
from tenax.model.parse.parse import parse_workflow


def parsed(schema: dict) -> Workflow:
    step = {"step": "a", "type": "python", "task": "t"}
    return parse_workflow(json.dumps({"name": "w", "input": {"x": schema}, "workflow": [step]}))


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": "a{99999999999}"},
        {"patternProperties": {"a{99999999999}": {}}},
        {"pattern": "(" * 2_000 + ")" * 2_000},
    ],
    ids=["count", "count-of-a-name", "nesting"],
)
def test_a_pattern_that_cannot_be_compiled_is_refused(schema):
    with pytest.raises(
        InvalidDefinition, match=r"input\.x: not valid JSON Schema: a `pattern` counts or nests"
    ):
        parsed(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/enum/0", "enum": ["x"]},
        {"$ref": "#/enum/x", "enum": ["x"]},
        {"$ref": "#/description", "description": "a text"},
        {"$ref": "#/description/0", "description": "a text"},
        {"$ref": "#/const", "const": {"type": "nothing"}},
        {"$ref": "#/const", "const": {"allOf": 3}},
    ],
)
def test_a_reference_to_what_is_no_schema_is_refused(schema):
    with pytest.raises(
        InvalidDefinition, match=r"input\.x: its schema has a `\$ref` that leads to what is no schema"
    ):
        parsed(schema)


@pytest.mark.parametrize("reference", ["#/description", "#/enum/a", "#/const"])
def test_a_reference_that_only_an_input_follows_is_refused_with_it(reference):
    odd = {"description": "a text", "enum": [["x"]], "const": ["x"], "items": {"$ref": reference}}
    with pytest.raises(InvalidInput, match=r"x: its schema has a `\$ref` that leads to what is no schema"):
        check_input(parsed(odd), {"x": ["x"]})
