"""Declares and reads the files of a pack: the file of each action, and the optional `pack.yaml`."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from tenax.model.inputs.inputs import DefinitionLimits, read_inputs
from tenax.model.packs.action import PACK_RUNTIMES, ActionDefinition
from tenax.model.packs.names import MAX_PACK_NAME, pack_name_fault, path_fault
from tenax.model.parse.field_types import (
    DURATION,
    LABEL,
    NAME,
    NAME_SCHEMA,
    TEXT,
    mapping,
    refuse_template,
    text,
    whole,
)
from tenax.model.parse.keys.program_keys import COMMAND, ENVIRONMENT
from tenax.model.parse.retry_fields import RETRY
from tenax.model.parse.shape import KeysRule, Shape, ValueReader, any_of, declare, exclusive, read_mapping
from tenax.model.parse.steps import read_retry
from tenax.model.parse.workflow_file import INPUT
from tenax.model.policy import Patch
from tenax.model.source.findings import Findings, shorten, suggest
from tenax.model.source.yaml_source import read_source

MAX_PARAMETERS = 500
_DEFAULT_LIMITS = DefinitionLimits()
_FUNCTION = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
_OTHER_NAMES = {
    "runner_type": "runtime",
    "entry_point": "entrypoint",
    "ref": "name",
    "params": "parameters",
    "input": "parameters",
}
"""Keys of other systems, or of steps, that stand for a key of an action."""


def _runtime(value: Any) -> str:
    if text(value) not in PACK_RUNTIMES:
        raise ValueError(f"unknown runtime `{shorten(value)}`{suggest(value, PACK_RUNTIMES)}")
    return str(value)


def _entrypoint(value: Any) -> str:
    path = text(value)
    refuse_template(path)
    if _FUNCTION.fullmatch(path):
        return path
    if (fault := path_fault(path)) is not None:
        raise ValueError(f"the path `{shorten(path)}` {fault}")
    return path


class ActionFile(Shape):
    """An action of a Tenax pack."""

    within = "in an action"
    together: ClassVar[tuple[KeysRule, ...]] = (
        any_of(
            "entrypoint",
            "command",
            "`entrypoint` is missing: the script that runs (`entrypoint: actions/call.py`), or a `command`",
        ),
        exclusive("entrypoint", "command"),
        exclusive("timeout", "timeout_seconds"),
        exclusive("retry", "max_retries"),
        KeysRule(
            lambda data: "entrypoint" in data and "runtime" not in data,
            f"`runtime` is missing: what runs the entrypoint, one of {', '.join(PACK_RUNTIMES)}",
            {"dependentRequired": {"entrypoint": ["runtime"]}},
        ),
        KeysRule(
            lambda data: "command" in data and data.get("runtime", "process") in ("python", "node"),
            "a `command` is run as it is or by `sh`: leave out `runtime`, or name a script in `entrypoint`",
            {
                "not": {
                    "required": ["command", "runtime"],
                    "properties": {"runtime": {"enum": ["python", "node"]}},
                }
            },
            ("command",),
        ),
    )

    name: str = declare(
        "its name. Steps refer to it as PACK.NAME",
        NAME,
        needed="every action has a name (`name: call_api`)",
        stand_in="unread",
    )
    description: str | None = declare("what it does, for people", TEXT)
    runtime: str | None = declare(
        "what runs the entrypoint: `shell`, `python`, `node`, or `process` for a program",
        ValueReader(_runtime, {"enum": list(PACK_RUNTIMES)}),
    )
    entrypoint: str | None = declare(
        "the script, by its path from the folder of the pack. With `python` it may be `module:function`",
        ValueReader(_entrypoint, {"type": "string"}),
    )
    command: Any = declare("instead of an entrypoint: a list is run as it is, a text by `sh -c`", COMMAND)
    env: dict[str, str] = declare("variables of the environment, by name", ENVIRONMENT, default={})
    parameters: dict[str, Any] = declare(
        "the parameters by name: each a JSON Schema, plus `required` and `default`",
        ValueReader(
            mapping, {"type": "object", "additionalProperties": INPUT, "maxProperties": MAX_PARAMETERS}
        ),
        default={},
    )
    timeout: float | None = declare("the limit of each attempt, unless the step has one", DURATION)
    timeout_seconds: float | None = declare("the same, under the name that Attune uses", DURATION)
    retry: Any = declare(
        "the action's [retry policy](policy.md), between that of the step and the workflow's", RETRY
    )
    max_retries: int | None = declare(
        "Attune's number of retries after the first attempt: n is `max_attempts: n + 1`",
        whole(0, 999_999_999),
    )

    @classmethod
    def unknown_key_message(cls, key: str) -> str:
        if key in _OTHER_NAMES:
            return f"unknown key `{key}` in an action: write it as `{_OTHER_NAMES[key]}`"
        return super().unknown_key_message(key)


def _pack_name(value: Any) -> str:
    if (fault := pack_name_fault(text(value))) is not None:
        raise ValueError(f"`{shorten(value)}` {fault}")
    return str(value)


class PackFile(Shape):
    """The optional `pack.yaml` of a pack."""

    within = "in pack.yaml"

    name: str | None = declare(
        "the name of the pack; without it, the name of its folder",
        ValueReader(_pack_name, {**NAME_SCHEMA, "maxLength": MAX_PACK_NAME}),
    )
    version: str | None = declare("a label; the identity of a pack is the hash of its content", LABEL)
    description: str | None = declare("what it is for", TEXT)

    @classmethod
    def unknown_key_message(cls, key: str) -> str:
        if key == "ref":
            return "unknown key `ref` in pack.yaml: write it as `name`"
        return super().unknown_key_message(key)


def draft_action(
    content: bytes, filename: str, limits: DefinitionLimits = _DEFAULT_LIMITS
) -> tuple[ActionDefinition, Findings]:
    """Reads an action file as far as it can be read. Conditions of its policy are not checked."""
    source = read_source(content, filename=filename)
    findings = Findings(source)
    data = _mapping_of(findings, "an action file is a mapping with at least `name` and `entrypoint`")
    keys, _ = read_mapping(ActionFile, data, (), findings)
    parameters = read_inputs(keys.parameters, findings, limits, ("parameters",))
    retry = _retry(data, keys, findings)
    if isinstance(retry, dict) and "vary" in retry:
        findings.add(("retry", "vary"), "`vary` changes the keys of a step: write it in the step's policy")
    entrypoint, runtime = keys.entrypoint, keys.runtime or "process"
    if entrypoint is not None and ":" in entrypoint and runtime != "python":
        findings.add(("entrypoint",), f"`module:function` needs `runtime: python`, and this is {runtime}")
    return ActionDefinition(
        name=keys.name,
        runtime=runtime,  # type: ignore[arg-type]  # `_runtime` has checked it
        entrypoint=entrypoint,
        command=tuple(keys.command) if isinstance(keys.command, list) else keys.command,
        description=keys.description,
        env=keys.env,
        parameters=parameters,
        timeout=keys.timeout if keys.timeout is not None else keys.timeout_seconds,
        retry=retry,
    ), findings


def read_pack_file(content: bytes, filename: str) -> PackFile:
    """Reads a `pack.yaml`. Raises InvalidDefinition with all mistakes in it."""
    findings = Findings(read_source(content, filename=filename))
    data = _mapping_of(findings, "pack.yaml is a mapping with `name`, `version` and `description`")
    found, _ = read_mapping(PackFile, data, (), findings)
    findings.raise_if_any()
    return found


def _mapping_of(findings: Findings, words: str) -> dict[str, Any]:
    data = findings.source.data
    if not isinstance(data, dict):
        findings.add((), words)
        findings.raise_if_any()
        return {}
    return data


def _retry(data: dict[str, Any], keys: ActionFile, findings: Findings) -> Patch | None:
    if keys.max_retries is not None:
        return {"max_attempts": keys.max_retries + 1}
    return read_retry(data, (), findings)
