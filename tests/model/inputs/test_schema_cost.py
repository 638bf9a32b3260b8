"""Tests which checks are provably short, and which run in a separate process."""

from __future__ import annotations

import pytest

from tenax.model.definition.workflow import Input, Workflow
from tenax.model.inputs.inputs import _Validators, check_input, is_checked_shortly
from tenax.model.inputs.schema_cost import power_of


@pytest.mark.parametrize(
    ("pattern", "power"),
    [
        ("^abc$", 1),
        ("abc", 2),
        ("^[a-z0-9-]+$", 2),
        (r"^\d{4}-\d{2}$", 3),
        ("[a-z]+@[a-z.]+", 4),
        ("^([a-z0-9]+[._-]?)+@x$", None),
        ("^(a|b)$", None),
        ("(?i)[a-z]", None),
        (r"(.)\1", None),
        ("a|b", None),
        ("^a{,}$", None),
        ("[a", None),
        ("^a++$", None),
        ("x$y", None),
        ("^[à-ÿ]$", 1),
        ("^[Ā-\uffff]$", None),
        (r"^[\u0100-\uffff]$", None),
        (r"^[\N{LATIN SMALL LETTER A}]$", None),
        ("^" + "a" * 2_000 + "$", None),
    ],
)
def test_patterns(pattern, power):
    assert power_of(pattern) == power


def short(schema: dict, value: object) -> bool:
    return is_checked_shortly({"x": Input(schema)}, {"x": value})


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"type": "string"}, "x" * 100_000, True),
        ({"type": "string", "pattern": "^[a-z-]+$"}, "x" * 60, True),
        ({"type": "string", "pattern": "^[a-z-]+$"}, "x" * 6000, False),
        ({"type": "string", "pattern": "^([a-z]+)+$"}, "x", False),
        ({"type": "array", "items": {"type": "integer"}}, list(range(300)), True),
        ({"type": "array", "items": {"type": "integer"}}, list(range(3000)), False),
        ({"$ref": "#/$defs/a", "$defs": {"a": {}}}, 1, False),
        ({"patternProperties": {"^a": {}}}, {}, False),
        ({"properties": {"a": {"unevaluatedProperties": False}}}, {}, False),
        ({}, list(range(9_000)), True),
        ({}, list(range(11_000)), False),
        ({"enum": ["x" * 100_000]}, "x", True),
        ({"type": "array", "items": {"enum": ["x" * 100_000]}}, ["a"] * 50, False),
        ({"type": "array", "items": {"properties": {"x" * 100_000: {}}}}, ["a"] * 50, False),
        ({"pattern": "b" * 1_900}, "x", True),
        ({"pattern": "b" * 300_000}, "x", False),
        ({"anyOf": [{"pattern": "b" * 1_900}, {"pattern": "c" * 1_900}]}, "x", False),
    ],
)
def test_checks(schema, value, expected):
    assert short(schema, value) is expected


@pytest.mark.parametrize(
    ("elements", "unique"),
    [
        ([1, 2, 3], True),
        ([1, 1.0], False),
        ([1, True], True),
        ([0, False, None, "", [], {}], True),
        ([{"a": 1, "b": [2]}, {"b": [2.0], "a": 1}], False),
        ([[1, 2], [2, 1]], True),
        (["1", 1], True),
        ([[True], [1]], True),
    ],
)
def test_unique_items_are_those_of_json_schema(elements, unique):
    from jsonschema import Draft202012Validator

    schema = {"type": "array", "uniqueItems": True}
    assert Draft202012Validator(schema).is_valid(elements) is unique
    workflow = Workflow("w", (), inputs={"x": Input(schema)})
    if unique:
        assert check_input(workflow, {"x": elements}) == {"x": elements}
    else:
        with pytest.raises(Exception, match="non-unique"):
            check_input(workflow, {"x": elements})


def test_long_patterns_are_compiled_aside():
    assert short({"type": "string", "pattern": "^" + "a" * 1_900 + "$"}, "x")
    assert not short({"type": "string", "pattern": "^" + "a" * 2_000 + "$"}, "x")
    several = {"allOf": [{"pattern": "^" + "a" * 300 + f"{n}$"} for n in range(8)]}
    assert not short(several, "x")


def test_validators_in_memory_are_bounded_by_the_size_of_their_schemas():
    kept = _Validators(1_000_000)
    schemas = [{"type": "string", "description": f"{n}" + "x" * 100_000} for n in range(30)]
    for schema in schemas:
        made = kept.of(schema)
        assert kept.of(schema) is made
        assert kept.weight <= 1_000_000
    assert kept.weight > 800_000, "what fits is kept"
    alone = {"enum": ["x" * 1_000_000] * 2}
    assert kept.of(alone) is kept.of(alone), "the newest stays, whatever it weighs"
    kept.of(schemas[0])
    assert kept.weight < 200_000
