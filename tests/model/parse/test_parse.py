"""Tests how valid files are read."""

from __future__ import annotations

import json
from textwrap import dedent

import pytest
from support.strategies.workflow_texts import EVERYTHING

from tenax.errors import InvalidInput
from tenax.model.definition.workflow import Input, Workflow
from tenax.model.parse.parse import check_input, parse_workflow, workflow_hash


def parse(text: str) -> Workflow:
    return parse_workflow(dedent(text), filename="w.yaml")


def test_everything_a_file_may_say():
    workflow = parse(EVERYTHING)
    assert (workflow.name, workflow.version, workflow.deadline) == ("nightly-sync", "1.10", 7200.0)
    assert workflow.retry == {"max_attempts": 3}
    assert workflow.inputs == {
        "url": Input({"type": "string"}, required=True),
        "limit": Input({"type": "integer", "minimum": 1}, has_default=True, default=5),
        "shape": Input({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}),
    }
    fetch, load, check, last = workflow.steps
    assert fetch.spec == {
        "url": "{{ input.url }}",
        "method": "POST",
        "headers": {"X-Trace": "1", "X-Count": "007x"},
        "params": {"page": 2, "all": True, "tag": ["a", "b"]},
        "json": {"since": "2024-01-01", "deep": [1, None, True]},
        "follow_redirects": False,
    }
    assert isinstance(fetch.retry, dict)
    assert fetch.retry["max_attempts"] is None
    assert fetch.retry["rules"] == [
        {"on": ["http_429"], "max_attempts": 3},
        {"when": "status_code == 418", "retry": False},
    ]
    assert (fetch.timeout, fetch.queue, fetch.queue_ttl, fetch.priority) == (90.0, "slow", 3600.0, 2)
    assert (load.timeout, load.queue, load.queue_ttl, load.priority) == (0.25, "fast", 10.0, 9)
    assert load.labels == {"zone": "eu", "cores": "16"}
    assert load.goal
    assert (fetch.goal, fetch.dependency) == (False, "warehouse")
    assert check.spec == {
        "command": ["sleep", "5", "{{ input.limit }}"],
        "env": {"PORT": "8080"},
        "cwd": "/tmp",
        "params": [1, 2],
    }
    assert check.when == "{{ input.limit > 1 }}"
    assert check.retry is False
    assert [step.needs for step in workflow.steps] == [(), ("fetch",), ("load", "fetch"), ("check", "load")]
    assert last.spec == {"command": "echo done", "env": {}, "cwd": None, "params": {}}


def test_canonical_form_survives_json():
    workflow = parse(EVERYTHING)
    assert Workflow.from_dict(json.loads(json.dumps(workflow.as_dict()))) == workflow


def test_defaults_of_a_bare_http_step():
    (step,) = parse("{name: w, workflow: [{step: a, type: http, url: 'http://h/x'}]}").steps
    assert step.spec == {
        "url": "http://h/x",
        "method": "GET",
        "headers": {},
        "params": {},
        "follow_redirects": True,
    }
    assert (step.timeout, step.queue, step.queue_ttl, step.priority, step.retry) == (
        300.0,
        "default",
        None,
        5,
        None,
    )


def test_identity_is_the_content():
    one = parse("{name: w, workflow: [{step: a, type: process, command: ls, timeout: 60}]}")
    same = parse("# a comment\nworkflow:\n  - {timeout: 1m, type: process, command: ls, step: a}\nname: w\n")
    other = parse("{name: w, workflow: [{step: a, type: process, command: ls, timeout: 61}]}")
    assert workflow_hash(one) == workflow_hash(same)
    assert workflow_hash(one) != workflow_hash(other)


def test_json_is_accepted():
    text = '{"name": "w", "workflow": [{"step": "a",\t"type": "process", "command": "ls", "timeout": 1e1}]}'
    (step,) = parse_workflow(text.encode()).steps
    assert step.timeout == 10.0


def test_bytes_with_a_byte_order_mark():
    text = "\N{BOM}{name: w, workflow: [{step: a, type: process, command: écho}]}"
    assert parse_workflow(text.encode()).steps[0].spec["command"] == "écho"


def test_aliases_and_merge_keys():
    workflow = parse("""
        name: w
        workflow:
          - &first
            step: a
            type: process
            command: ls
            retry: &often {max_attempts: 7, jitter: off}
          - {<<: *first, step: b, retry: {<<: *often, jitter: 0.1}}
          - {<<: [{step: c, timeout: 5}, *first]}
    """)
    a, b, c = workflow.steps
    assert (b.name, b.spec, b.retry) == ("b", a.spec, {"max_attempts": 7, "jitter": 0.1})
    assert (c.name, c.timeout, c.retry) == ("c", 5.0, a.retry)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("yes", True),
        ("Off", False),
        ("'yes'", "yes"),
        ("!!str yes", "yes"),
        ("~", None),
        ("12", 12),
        ("+1_000", 1000),
        ("-0x1F", -31),
        ("0o17", 15),
        ("1e3", 1000.0),
        ("1.5", 1.5),
        (".5", 0.5),
        ("!!float 2", 2.0),
        ("1:30", "1:30"),
        ("2024-01-01", "2024-01-01"),
        ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
        ("1.2.3", "1.2.3"),
        ("-x", "-x"),
        ("nope", "nope"),
        ("|\n   a\n   b\n", "a\nb\n"),
    ],
)
def test_what_an_unquoted_word_means(written, value):
    text = (
        f"name: w\nworkflow:\n - step: a\n   type: python\n   task: t\n   args:\n    x: {written}\n".replace(
            "\n   a\n   b\n", "\n      a\n      b\n"
        )
    )
    found = parse_workflow(text).steps[0].spec["args"]["x"]
    assert found == value
    assert type(found) is type(value)


def test_keys_are_text_as_written():
    text = "{name: w, workflow: [{step: a, type: python, task: t, args: {on: 1, 010: 2, null: 3, 2024-01-01: 4}}]}"
    assert parse(text).steps[0].spec["args"] == {"on": 1, "010": 2, "null": 3, "2024-01-01": 4}


INPUTS = parse("""
    name: w
    input:
      url: {type: string, required: true}
      count: {type: integer, minimum: 1, default: 3}
      any: {}
    workflow: [{step: a, type: process, command: ls}]
""")


def test_inputs_are_filled_in():
    assert check_input(INPUTS, {"url": "x"}) == {"url": "x", "count": 3}
    assert check_input(INPUTS, {"url": "x", "count": 1, "any": [None]}) == {
        "url": "x",
        "count": 1,
        "any": [None],
    }


@pytest.mark.parametrize(
    ("given", "lines"),
    [
        ({}, ["url: required, but not given"]),
        (
            {"urll": "x"},
            ["urll: there is no such input; did you mean `url`?", "url: required, but not given"],
        ),
        ({"url": 5}, ["url: expected string, found a number (5)"]),
        ({"url": "x", "count": 0}, ["count: 0 is less than the minimum of 1"]),
        ({"url": 1, "count": "x"}, ["url: expected string", 'count: expected integer, found text ("x")']),
        ({"url": "x", "any": {"a": [float("nan")]}}, ["any.a[0]: nan is not a finite number"]),
        ({"url": "a\0b"}, ["url: a character that cannot be stored"]),
        ({"url": "x", "any": {"\ud800": 1}}, ["any: a character that cannot be stored"]),
    ],
)
def test_inputs_that_do_not_fit(given, lines):
    with pytest.raises(InvalidInput) as raised:
        check_input(INPUTS, given)
    first, *rest = raised.value.message.splitlines()
    assert first == "the input does not fit workflow `w`:"
    assert len(rest) == len(lines)
    for found, expected in zip(rest, lines, strict=True):
        assert found.strip().startswith(expected)


def test_inputs_nested_without_end():
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InvalidInput, match="nested deeper than 100 levels"):
        check_input(INPUTS, {"url": "x", "any": deep})


def test_a_schema_that_turns_in_a_circle_when_used():
    text = """
        name: w
        input: {x: {type: object, properties: {y: {$ref: "#/properties/y"}}}}
        workflow: [{step: a, type: process, command: ls}]
    """
    with pytest.raises(InvalidInput, match="refers to itself without end"):
        check_input(parse(text), {"x": {"y": 1}})
