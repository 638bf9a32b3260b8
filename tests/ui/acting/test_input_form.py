"""Fields of inputs: their kinds by the schema, what they send back, and the places of what does not fit."""

from __future__ import annotations

from typing import Any

import pytest

from tenax.model.definition.workflow import Input
from tenax.ui.pages.acting.input_form import (
    MOST_EDITED,
    PREFIX,
    fields_of,
    filled_in,
    place_problems,
    read_fields,
)


@pytest.mark.parametrize(
    ("schema", "value", "kind", "text"),
    [
        ({"type": "string"}, "Ada", "text", "Ada"),
        ({"type": "string"}, "a\nb", "lines", "a\nb"),
        ({"type": "string", "enum": ["a", "b"]}, "a", "choice", "a"),
        ({"type": "integer"}, 3, "integer", "3"),
        ({"type": "number"}, 0.5, "number", "0.5"),
        ({"type": "boolean"}, True, "boolean", "on"),
        ({"type": "boolean"}, False, "boolean", ""),
        ({"type": ["string", "null"]}, None, "json", "null"),
        ({"type": "object"}, {"a": 1}, "json", '{\n  "a": 1\n}'),
        ({}, "any", "json", '"any"'),
        ({"type": "string"}, "x" * (MOST_EDITED + 1), "kept", ""),
    ],
)
def test_a_field_shows_the_value_and_sends_the_same_back(schema, value, kind, text):
    [field] = fields_of({"x": Input(schema)}, {"x": value})
    assert (field.kind, field.text) == (kind, text)
    assert read_fields([field], {PREFIX + "x": text} if text else {}, {"x": value}) == ({}, {})


def changed(schema: dict[str, Any], sent: str, given: dict[str, Any]) -> Any:
    inputs = {"x": Input(schema, has_default="default" in schema, default=schema.pop("default", None))}
    values, wrong = read_fields(fields_of(inputs, given), {PREFIX + "x": sent} if sent else {}, given)
    return wrong.get("x", values.get("x", "nothing"))


@pytest.mark.parametrize(
    ("schema", "sent", "given", "expected"),
    [
        ({"type": "string"}, "new", {"x": "old"}, "new"),
        ({"type": "string"}, "", {"x": "old"}, ""),
        ({"type": "string"}, "", {}, "nothing"),
        ({"type": "string"}, "a\r\nb", {}, "a\nb"),
        ({"type": "integer"}, "7", {"x": 3}, 7),
        ({"type": "integer"}, "", {}, "nothing"),
        ({"type": "integer"}, "", {"x": 3}, "a value is missing: an input that was given cannot be taken away"),
        ({"type": "boolean"}, "on", {}, True),
        ({"type": "boolean"}, "", {"x": True}, False),
        ({"type": "boolean"}, "", {}, "nothing"),
        ({}, "true", {"x": 1}, True),
        ({}, "1", {"x": True}, 1),
        ({"type": "array"}, "[1,", {"x": []}, "x: not valid JSON: Expecting value: line 1 column 4 (char 3)"),
        ({"type": "number"}, "NaN", {"x": 1}, "x: not valid JSON: NaN is not a JSON value"),
    ],
)  # fmt: skip
def test_what_a_field_sends(schema, sent, given, expected):
    found = changed(schema, sent, given)
    assert (found, type(found)) == (expected, type(expected))


def test_a_refusal_is_placed_beside_the_longest_name_that_fits():
    message = "the input does not fit workflow `w`:\n  a: required, but not given\n  a.b[0]: not a text\n  list[2]: 0 is less than 1\n  and more"
    wrong, rest = place_problems(message, ["a", "a.b", "list"])
    assert wrong == {
        "a": "required, but not given",
        "a.b": "[0]: not a text",
        "list": "[2]: 0 is less than 1",
    }
    assert rest == ["and more"]


def test_fields_keep_what_was_sent_with_what_is_wrong():
    fields = fields_of({"x": Input({"type": "integer"})}, {"x": 1})
    [field] = filled_in(fields, {PREFIX + "x": "many"}, {"x": "not a number"})
    assert (field.text, field.error, field.is_given) == ("many", "not a number", True)
