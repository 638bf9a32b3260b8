"""Tests the reader of action files: what they mean, and every mistake with its place and its remedy."""

from __future__ import annotations

import jsonschema
import pytest
import yaml
from support.packs import FLAKY_API

from tenax.errors import InvalidDefinition
from tenax.model.packs.action import ActionDefinition
from tenax.model.parse.action_file import draft_action, read_pack_file
from tenax.model.parse.file_schema import action_schema

SCHEMA = action_schema()


def read(text: str) -> ActionDefinition:
    action, findings = draft_action(text.encode(), "a.yaml")
    findings.raise_if_any()
    return action


def faults(text: str) -> list[str]:
    with pytest.raises(InvalidDefinition) as raised:
        read(text)
    return str(raised.value).splitlines()


def test_the_form_of_attune_works_as_it_stands() -> None:
    action = read(FLAKY_API)
    assert (action.name, action.runtime, action.entrypoint) == (
        "flaky_api_call",
        "python",
        "actions/flaky_api.py",
    )
    assert (action.timeout, action.retry) == (120.0, {"max_attempts": 4})
    assert action.parameters["url"].required
    assert action.parameters["url"].schema == {"type": "string"}


@pytest.mark.parametrize(
    ("keys", "field", "value"),
    [
        ("timeout: 2m", "timeout", 120.0),
        ("timeout_seconds: 1.5", "timeout", 1.5),
        ("max_retries: 0", "retry", {"max_attempts": 1}),
        ("retry: 3", "retry", {"max_attempts": 3}),
        ("retry: false", "retry", False),
        ("retry: {max_attempts: 2, initial_delay: 3}", "retry", {"max_attempts": 2, "initial_delay": 3.0}),
        ("env: {A: 1.10}", "env", {"A": "1.10"}),
        ("description: d", "description", "d"),
        ("runtime: shell", "runtime", "shell"),
        ("", "runtime", "process"),
    ],
)
def test_keys(keys: str, field: str, value: object) -> None:
    assert getattr(read(f"name: a\ncommand: ls\n{keys}\n"), field) == value


def test_a_command_is_text_or_a_list() -> None:
    assert read("name: a\ncommand: docker ps --format '{{.ID}}'").command == "docker ps --format '{{.ID}}'"
    assert read("name: a\ncommand: [ls, 1]").command == ("ls", "1")


def test_a_definition_is_read_again_as_it_was_written() -> None:
    for text in (FLAKY_API, "name: a\ncommand: [ls]\nparameters: {n: {type: integer, default: 3}}"):
        assert ActionDefinition.from_dict(read(text).as_dict()) == read(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[]", "a.yaml:1:1: an action file is a mapping with at least `name` and `entrypoint`"),
        ("command: ls", "`name` is missing: every action has a name (`name: call_api`)"),
        ("name: a.b\ncommand: ls", "a.yaml:1:1: name: `a.b` is not a name"),
        ("name: a", "`entrypoint` is missing: the script that runs"),
        ("name: a\nentrypoint: x.sh", "`runtime` is missing: what runs the entrypoint"),
        ("name: a\nruntime: pyton\nentrypoint: x.py", "unknown runtime `pyton`; did you mean `python`?"),
        (
            "name: a\nruntime: ruby\nentrypoint: x",
            "unknown runtime `ruby` (there are: shell, python, node, process)",
        ),
        ("name: a\nruntime: python\ncommand: x", "a `command` is run as it is or by `sh`"),
        ("name: a\ncommand: x\nentrypoint: y\nruntime: shell", "exclude each other: keep one"),
        ("name: a\ncommand: x\ntimeout: 1\ntimeout_seconds: 1", "exclude each other: keep one"),
        ("name: a\ncommand: x\nretry: 1\nmax_retries: 1", "exclude each other: keep one"),
        ("name: a\ncommand: x\nmax_retries: -1", "max_retries: must be from 0 to 999999999, found -1"),
        ("name: a\ncommand: x\nmax_retries: many", "max_retries: expected a whole number"),
        ("name: a\ncommand: x\ntimeout: 0", "timeout: must be longer than zero, found 0"),
        ("name: a\ncommand: x\nretry: 0", "max_attempts counts the first attempt too"),
        ("name: a\ncommand: x\nretry: {vary: [{}]}", "retry.vary: `vary` changes the keys of a step"),
        (
            "name: a\ncommand: x\nrunner_type: shell",
            "unknown key `runner_type` in an action: write it as `runtime`",
        ),
        ("name: a\ncommand: x\nentry_point: shell", "write it as `entrypoint`"),
        ("name: a\ncommand: x\nparams: {}", "write it as `parameters`"),
        (
            "name: a\ncommand: x\nparamters: {}",
            "unknown key `paramters` in an action; did you mean `parameters`?",
        ),
        ("name: a\ncommand: x\nparameters: {u: {typ: string}}", "parameters.u.typ: unknown key `typ`"),
        ("name: a\ncommand: x\nparameters: {u: string}", "an input is a JSON Schema such as {type: string}"),
        (
            "name: a\ncommand: x\nparameters: {u: {type: integer, default: x}}",
            "parameters.u.default: does not fit the input's own schema",
        ),
        (
            "name: a\ncommand: x\nparameters: {u: {type: integer, default: 1, required: true}}",
            "an input with a `default` is never missing",
        ),
        ("name: a\nruntime: shell\nentrypoint: lib:f", "`module:function` needs `runtime: python`"),
        ("name: a\nruntime: python\nentrypoint: '{{ x }}'", "a template cannot stand here"),
        ("name: a\nruntime: python\nentrypoint: ../x.py", "leads out of the pack (`..`)"),
        ("name: a\nruntime: python\nentrypoint: a/../../x.py", "leads out of the pack (`..`)"),
        ("name: a\nruntime: python\nentrypoint: /etc/passwd", "is not relative to the folder of the pack"),
        ("name: a\nruntime: python\nentrypoint: ~/x.py", "is not relative to the folder of the pack"),
        ("name: a\nruntime: python\nentrypoint: './x.py'", "is not written plainly"),
        ("name: a\nruntime: python\nentrypoint: 'a//x.py'", "is not written plainly"),
        ("name: a\nruntime: python\nentrypoint: '..\\x.py'", "which paths in a pack cannot have"),
        ('name: a\nruntime: python\nentrypoint: "a\\nb.py"', "which paths in a pack cannot have"),
    ],
)
def test_mistakes(text: str, expected: str) -> None:
    found = faults(text)
    assert any(expected in line for line in found), "\n".join(found)
    assert all(line.startswith("a.yaml:") for line in found)


def test_all_mistakes_are_reported_at_once() -> None:
    found = faults("name: a b\nruntime: pyton\nentrypoint: /x\nretry: {max_attempts: 0}\nextra: 1\n")
    assert [line.split(":")[1] for line in found] == ["1", "2", "3", "4", "5"]


@pytest.mark.parametrize("text", [FLAKY_API, "name: a\ncommand: [ls, 1]\nretry: 3\nenv: {A: x}"])
def test_the_schema_accepts_what_the_reader_accepts(text: str) -> None:
    jsonschema.validate(yaml.safe_load(text), SCHEMA)


@pytest.mark.parametrize(
    "text",
    [
        "name: a",
        "name: a\nentrypoint: x",
        "name: a\nruntime: ruby\nentrypoint: x",
        "name: a\ncommand: x\nmax_retries: -1",
        "name: a\ncommand: x\nentrypoint: y\nruntime: shell",
        "name: a\nruntime: python\ncommand: x",
        "name: a\ncommand: x\nother: 1",
    ],
)
def test_the_schema_refuses_what_the_reader_refuses(text: str) -> None:
    faults(text)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(yaml.safe_load(text), SCHEMA)


def test_a_pack_file() -> None:
    found = read_pack_file(b"name: tools\nversion: 1.10\ndescription: d", "pack.yaml")
    assert (found.name, found.version, found.description) == ("tools", "1.10", "d")
    for text, expected in [
        ("ref: tools", "write it as `name`"),
        ("name: a.b", "is not a name"),
        (f"name: {'x' * 65}", "is longer than 64 characters"),
        ("verson: 1", "did you mean `version`?"),
        ("- a", "pack.yaml is a mapping"),
    ]:
        with pytest.raises(InvalidDefinition) as raised:
            read_pack_file(text.encode(), "pack.yaml")
        assert expected in str(raised.value)
