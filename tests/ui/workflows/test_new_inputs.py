"""Tests the form of a new execution: the field of each schema, with its default, and the values that are read back."""

from __future__ import annotations

from typing import Any

import pytest

from tenax.model.definition.workflow import Input
from tenax.ui.pages.acting.input_form import PREFIX, fields_of, place_problems, read_fields

NONE = object()


def made(schema: dict[str, Any], *, given: Any = NONE) -> tuple[dict[str, Input], dict[str, Any]]:
    kept = {key: value for key, value in schema.items() if key not in ("default", "required")}
    declared = Input(
        kept,
        required=schema.get("required", False),
        has_default="default" in schema,
        default=schema.get("default"),
    )
    return {"x": declared}, {} if given is NONE else {"x": given}


@pytest.mark.parametrize(
    ("schema", "kind", "text"),
    [
        ({"type": "string"}, "text", ""),
        ({"type": "string", "default": "a\nb"}, "lines", "a\nb"),
        ({"type": "string", "format": "date"}, "date", ""),
        ({"type": "string", "format": "date", "default": "2026-01-31"}, "date", "2026-01-31"),
        ({"type": "string", "format": "date", "default": "soon"}, "text", "soon"),
        ({"type": "string", "enum": ["a", "b"], "default": "b"}, "choice", "b"),
        ({"enum": [1, "one", None]}, "choice", ""),
        ({"enum": [1, "1"]}, "json", ""),
        ({"enum": [[1], [2]]}, "json", ""),
        ({"type": "integer", "default": 5}, "integer", "5"),
        ({"type": "number", "default": 0.5}, "number", "0.5"),
        ({"type": "boolean", "default": True}, "boolean", "on"),
        ({"type": "boolean"}, "boolean", ""),
        ({"type": "object", "default": {"a": 1}}, "json", '{\n  "a": 1\n}'),
        ({"type": "array"}, "json", ""),
        ({"type": ["string", "null"], "default": None}, "json", "null"),
        ({}, "json", ""),
        ({"type": "string", "default": "x" * 100_001}, "kept", ""),
    ],
)
def test_a_field_for_each_schema(schema, kind, text):
    [field] = fields_of(*made(schema))
    assert (field.kind, field.text) == (kind, text)


@pytest.mark.parametrize(
    ("schema", "sent", "values"),
    [
        ({"type": "string"}, "", {}),
        ({"type": "string"}, "a b", {"x": "a b"}),
        ({"type": "string", "default": "d"}, "", {"x": ""}),
        ({"type": "string", "default": "a\nb"}, "a\r\nc", {"x": "a\nc"}),
        ({"type": "string", "format": "date", "default": "2026-01-31"}, "", {}),
        ({"type": "integer", "default": 5}, "7", {"x": 7}),
        ({"type": "integer", "default": 5}, "", {}),
        ({"type": "number"}, "1e3", {"x": 1000.0}),
        ({"type": "boolean"}, "on", {"x": True}),
        ({"type": "boolean"}, None, {}),
        ({"type": "boolean", "required": True}, None, {"x": False}),
        ({"type": "boolean", "default": True}, None, {"x": False}),
        ({"enum": [1, "one", None]}, "1", {"x": 1}),
        ({"enum": [1, "one", None]}, "null", {"x": None}),
        ({"enum": [1, "one", None]}, "", {}),
        ({"enum": ["a"]}, "b", {"x": "b"}),
        ({"type": "object"}, '{"a": [1]}', {"x": {"a": [1]}}),
        ({"type": "object", "default": {"a": 1}}, " ", {}),
        ({"type": "string", "default": "x" * 100_001}, "y", {}),
    ],
)
def test_the_values_of_a_new_execution(schema, sent, values):
    fields = fields_of(*made(schema))
    form = {} if sent is None else {PREFIX + "x": sent}
    assert read_fields(fields, form, {}) == (values, {})


@pytest.mark.parametrize(
    ("schema", "given", "sent", "values"),
    [
        ({"type": "string"}, "a", "a", {}),
        ({"type": "string"}, "a", "", {"x": ""}),
        ({"type": "integer"}, 1, "2", {"x": 2}),
        ({"type": "integer"}, 1, "1", {}),
        ({"type": "boolean"}, True, None, {"x": False}),
        ({"type": "boolean"}, False, None, {}),
        ({"enum": ["a", "b"]}, "c", '"b"', {"x": "b"}),
    ],
)
def test_only_what_has_changed_of_a_given_input_is_sent(schema, given, sent, values):
    inputs, before = made(schema, given=given)
    form = {} if sent is None else {PREFIX + "x": sent}
    assert read_fields(fields_of(inputs, before), form, before) == (values, {})


@pytest.mark.parametrize(
    ("schema", "given", "sent", "said"),
    [
        ({"type": "object"}, NONE, "{a}", "not valid JSON"),
        ({"type": "integer"}, NONE, "seven", "not valid JSON"),
        ({"type": "number"}, NONE, "NaN", "not a JSON value"),
        ({"type": "integer"}, 1, "", "cannot be taken away"),
    ],
)
def test_what_cannot_be_read_is_said(schema, given, sent, said):
    inputs, before = made(schema, given=given)
    values, wrong = read_fields(fields_of(inputs, before), {PREFIX + "x": sent}, before)
    assert values == {}
    assert said in wrong["x"]


def test_problems_are_placed_at_the_input_that_they_name():
    refusal = "the input does not fit:\n  a: required, but not given\n  a.b[0]: too long\n  ab[1]: wrong\n  and more"
    assert place_problems(refusal, ["a", "ab"]) == (
        {"a": "required, but not given; b[0]: too long", "ab": "[1]: wrong"},
        ["and more"],
    )
