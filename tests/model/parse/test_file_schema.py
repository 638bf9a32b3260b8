"""Tests that the JSON Schema of workflow files and the reader refuse the same shapes."""

from __future__ import annotations

import json
from textwrap import dedent
from typing import Any

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator
from support.strategies.hostile_strategies import WORKFLOWS, fuzzed, mutated
from support.strategies.workflow_texts import (
    CONCURRENCY_FORMS,
    EVERYTHING,
    FLOW,
    MORE_STEPS,
    STEPS,
    WRONG_CONCURRENCY,
    step,
)

from tenax.errors import InvalidDefinition
from tenax.model.definition.types import STEP_TYPES
from tenax.model.parse.file_schema import file_schema
from tenax.model.parse.parse import parse_workflow
from tenax.model.parse.workflow_file import STEPS as STEP_SHAPES
from tenax.model.parse.workflow_file import WORKFLOW_KEYS
from tenax.model.source.yaml_source import read_source

SCHEMA = file_schema()
VALIDATOR = Draft202012Validator(SCHEMA)

BEYOND_THE_SHAPE = {
    "type: http, url: 'http://[::1'": "a web address is more than a pattern",
    "type: http, url: 'http://h:99999'": "a web address is more than a pattern",
    "type: sleep, at: 2030-02-31T00:00:00Z": "a day that no month has",
    "type: python, task: t, next: {step: A}": "the graph",
    "type: python, task: t, on_failure: {step: a}": "the graph",
    "type: python, task: t, on_failure: {step: b}": "the graph",
    "concurrency: {limit: 5, key: '{{ input.customer }}', key_limit: 6}": "a number compared with another",
}
"""Cases that only the reader refuses, and why. Entries of `vary` are beyond it too: they are merged with the step's keys."""
WRONG = [*STEPS, *MORE_STEPS, *(f"type: process, command: ls, {keys}" for keys in WRONG_CONCURRENCY)]


def data_of(text: str) -> Any:
    """The data of a file, or None where it cannot be read even as YAML: no schema sees that."""
    try:
        source = read_source(text)
    except InvalidDefinition:
        return None
    return None if source.findings else source.data


def test_it_is_a_schema_of_the_declared_version():
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert "](" not in json.dumps(SCHEMA), "a link that no editor can open"


@pytest.mark.parametrize(
    "text",
    [
        *(pytest.param(text, id=text.split("name: ")[1].split()[0]) for text in WORKFLOWS),
        pytest.param(dedent(EVERYTHING), id="everything"),
        pytest.param(dedent(FLOW), id="flow"),
        *(
            pytest.param(step(f"type: process, command: ls, concurrency: {form}"), id=form)
            for form in CONCURRENCY_FORMS
        ),
    ],
)
def test_it_accepts_what_the_reader_accepts(text):
    parse_workflow(text)
    assert [error.message for error in VALIDATOR.iter_errors(data_of(text))] == []


@pytest.mark.parametrize("keys", WRONG)
def test_it_refuses_what_the_reader_refuses_for_its_shape(keys):
    data = data_of(step(keys))
    if data is None:
        return
    beyond = any(keys.endswith(case) for case in BEYOND_THE_SHAPE) or "vary: [{" in keys
    assert VALIDATOR.is_valid(data) is beyond


@given(mutated(data_of(dedent(EVERYTHING))))
@fuzzed(150)
def test_what_it_refuses_the_reader_refuses_too(document):
    """The schema is never stricter than the reader, whatever has happened to a file."""
    text = json.dumps(document)
    data = data_of(text)
    if data is None or VALIDATOR.is_valid(data):
        return
    with pytest.raises(InvalidDefinition):
        parse_workflow(text)


def test_every_key_is_described():
    shapes = {"the file": SCHEMA, **SCHEMA["$defs"]}
    bare = [
        f"{name}: {key}"
        for name, shape in shapes.items()
        for key, value in shape.get("properties", {}).items()
        if not value.get("description")
    ]
    assert bare == []
    assert set(SCHEMA["properties"]) == set(WORKFLOW_KEYS)


@pytest.mark.parametrize("kind", STEP_TYPES)
def test_a_step_of_each_type_has_its_keys(kind):
    [shape] = [
        one
        for one in SCHEMA["$defs"].values()
        if one["properties"].get("type", {}).get("const") == kind and "step" in one["properties"]
    ]
    assert set(shape["properties"]) == set(STEP_SHAPES[kind].key_names())
    assert {"step", "action" if kind == "action" else "type"} <= set(shape["required"])
