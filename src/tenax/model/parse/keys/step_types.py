"""Declares the keys of each type of step: how they are read, their JSON Schema, and their descriptions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import urlsplit

from tenax.model.definition.types import StepType
from tenax.model.names import WORKFLOW_NAME
from tenax.model.parse.field_types import (
    ANY,
    DURATION,
    DURATION_SCHEMA,
    NAME_SCHEMA,
    TEMPLATE,
    duration,
    flag,
    is_template,
    mapping,
    matching,
    name,
    or_template,
    text,
    text_mapping,
)
from tenax.model.parse.keys.action_keys import ActionKeys
from tenax.model.parse.keys.own_keys import OwnKeys
from tenax.model.parse.keys.program_keys import AgentKeys, ProcessKeys
from tenax.model.parse.shape import (
    KeysRule,
    Mismatch,
    Shape,
    ValueReader,
    any_of,
    declare,
    exclusive,
    faults,
)
from tenax.model.source.findings import NOT_YET, nearest, shorten
from tenax.model.times import parse_time

LATER_TYPES = ("pod",)

_TIME = r"^\s*\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)\s*$"
_WEB = r"^([Hh][Tt][Tt][Pp][Ss]?:|(?![A-Za-z][A-Za-z0-9+.-]*:)[\s\S]*\{\{)"
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_METHOD = f"^({'|'.join(''.join(f'[{c}{c.lower()}]' for c in name) for name in _METHODS)})$"
_HEADER_NAME = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):", re.ASCII)
_TASK = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.(<locals>\.)?[^\W\d]\w*)*|[\w.-]+")
"""`<locals>` stands in the name of a task that was made in a function."""
_CHILD = rf"{WORKFLOW_NAME}(@\S{{1,200}})?"
_FILE = re.compile(r"(?![A-Za-z][A-Za-z0-9+.-]*://|[/~])[^\\]*[^\\/]")


def _url(value: Any) -> str:
    url = text(value)
    before = url.split("{{", 1)[0]
    if before != url and not _SCHEME.match(before):
        return url
    try:
        parts = urlsplit(before)
        sound = parts.scheme in ("http", "https") and (bool(parts.hostname) or before != url)
        sound = sound and (before != url or parts.port is None or parts.port > 0)
    except ValueError:
        sound = False
    if not sound:
        raise ValueError(
            f"`{shorten(url)}` is not a web address: it begins with http:// or https:// and a host"
        )
    return url


def _method(value: Any) -> str:
    method = text(value)
    if method.upper() not in _METHODS:
        meant = nearest(method, _METHODS)
        hint = f"; did you mean {meant}?" if meant else f" (there are: {', '.join(_METHODS)})"
        raise ValueError(f"unknown method `{shorten(method)}`{hint}")
    return method.upper()


def _header_fault(key: str, value: str) -> str | None:
    if not re.fullmatch(_HEADER_NAME, key):
        return f"`{shorten(key)}` cannot be the name of a header"
    if "\n" in value or "\r" in value:
        return "a header's value is one line; in YAML use > instead of |, or quotes"
    return None


def _query(value: Any) -> dict[str, Any]:
    params = mapping(value)
    wrong = [
        key
        for key, one in params.items()
        if any(isinstance(part, list | dict) for part in (one if isinstance(one, list) else [one]))
    ]
    if wrong:
        message = ValueError("expected text, a number, or a list of these")
        raise faults(((key,), message, params[key]) for key in wrong)
    return params


def _body(value: Any) -> str:
    if isinstance(value, list | dict):
        raise ValueError("`body` is text as it is sent; for a list or a mapping use `json`")
    if not isinstance(value, str):
        raise Mismatch("text")
    return value


_SIMPLE = {"type": ["string", "number", "boolean", "null"]}


class AsyncKeys(Shape):
    within = "in `async`"

    deadline: float = declare(
        "how long the callee may take to call back",
        DURATION,
        needed="how long the callee may take to call back, such as 1h",
        stand_in=1,
    )


class HttpRequest(OwnKeys):
    only_if_given = frozenset({"json_", "body"})
    together: ClassVar[tuple[KeysRule, ...]] = (exclusive("json", "body"),)

    url: str = declare(
        "the address that is called: http:// or https://",
        ValueReader(_url, {"type": "string", "pattern": _WEB}),
        needed="an http step needs the address it calls",
        stand_in="http://unread",
    )
    method: str = declare(
        "the HTTP method",
        or_template(_method, {"anyOf": [{"enum": list(_METHODS)}, {"type": "string", "pattern": _METHOD}]}),
        default="GET",
    )
    headers: dict[str, str] = declare(
        "headers of the request, by name",
        text_mapping(_header_fault, {"pattern": f"^{_HEADER_NAME}$"}, {"pattern": "^[^\\r\\n]*$"}),
        default={},
    )
    params: Any = declare(
        "the query of the address: text, numbers, or lists of these, by name",
        or_template(
            _query,
            {
                "type": "object",
                "additionalProperties": {"anyOf": [_SIMPLE, {"type": "array", "items": _SIMPLE}]},
            },
        ),
        default={},
    )
    json_: Any = declare("a body that is sent as JSON", ANY, alias="json")
    body: str = declare(
        "a body that is sent as this text", ValueReader(_body, {"type": "string"}), default=""
    )
    follow_redirects: bool | str = declare(
        "whether the worker follows redirects", or_template(flag, {"type": "boolean"}), default=True
    )


class HttpKeys(HttpRequest):
    only_if_given = HttpRequest.only_if_given | {"async_"}

    async_: AsyncKeys = declare("the callee [calls back](callbacks.md) with the outcome", alias="async")


def _task(value: Any) -> str:
    task = text(value)
    if "{{" in task:
        raise ValueError("`task` cannot be a template: the server must know what a step runs before it runs")
    if not _TASK.fullmatch(task):
        raise ValueError(f"`{shorten(task)}` is neither module:function nor the name of a task")
    return task


def _args(value: Any) -> Any:
    if not isinstance(value, dict | list) and not is_template(value):
        raise Mismatch("a mapping (by name), a list (by position) or a template that gives one")
    return value


class PythonKeys(OwnKeys):
    task: str = declare(
        "the function: `module:function`, or its registered name",
        ValueReader(_task, {"type": "string", "pattern": "^[^\\s{}:]+(:[^\\s{}:]+)?$"}),
        needed="a python step needs its function, as module:function or by its registered name",
        stand_in="unread",
    )
    args: Any = declare(
        "a mapping of keyword arguments, or a list of positional ones",
        ValueReader(_args, {"anyOf": [{"type": ["object", "array"]}, TEMPLATE]}),
        default={},
    )


def _time(value: Any) -> str:
    if not is_template(value):
        parse_time(text(value))
    return text(value)


class SleepKeys(OwnKeys):
    only_if_given = frozenset({"for_", "at"})
    together: ClassVar[tuple[KeysRule, ...]] = (
        any_of(
            "for",
            "at",
            "`for` is missing: how long (`for: 5m`) or until when (`at: 2030-01-31T09:30:00Z`)",
        ),
        exclusive("for", "at"),
    )

    for_: Any = declare(
        "how long the step sleeps: a duration", or_template(duration, DURATION_SCHEMA), alias="for"
    )
    at: str | None = declare(
        "the time until which it sleeps, with its zone",
        ValueReader(_time, {"anyOf": [{"type": "string", "pattern": _TIME}, TEMPLATE]}),
    )


class WaitKeys(OwnKeys):
    signal: str | None = declare(
        "the signal that the step waits for. Without it, the step waits for an approval",
        or_template(name, NAME_SCHEMA),
    )
    deadline: float | None = declare(
        "how long it waits. After it the step has failed. Without it, the step waits for ever", DURATION
    )


def _inputs(value: Any) -> Any:
    if not isinstance(value, dict) and not is_template(value):
        raise Mismatch("a mapping of inputs, or a template that gives one")
    return value


class ChildKeys(OwnKeys):
    only_if_given = frozenset({"workflow", "file"})
    together: ClassVar[tuple[KeysRule, ...]] = (
        any_of(
            "workflow",
            "file",
            "`workflow` is missing: the child's name (`workflow: NAME`) or its file (`file: PATH`)",
        ),
        exclusive("workflow", "file"),
    )

    workflow: str | None = declare(
        "a stored workflow: NAME or NAME@VERSION",
        matching(
            re.compile(_CHILD),
            "is not the name of a workflow: write NAME or NAME@VERSION",
            {"type": "string", "pattern": f"^{_CHILD}$"},
        ),
    )
    file: str | None = declare(
        "the path of a workflow file, from the folder of this file",
        matching(
            _FILE,
            "is not a path from this file's folder: write it as parts/child.yaml",
            {"type": "string", "pattern": f"^{_FILE.pattern}$", "not": TEMPLATE},
        ),
    )
    input: Any = declare(
        "the inputs of the child: a mapping, or a template that gives one",
        ValueReader(_inputs, {"anyOf": [{"type": "object"}, TEMPLATE]}),
        default={},
    )


OWN_KEYS: Mapping[StepType, type[OwnKeys]] = {
    "http": HttpKeys,
    "process": ProcessKeys,
    "agent": AgentKeys,
    "python": PythonKeys,
    "action": ActionKeys,
    "sleep": SleepKeys,
    "wait": WaitKeys,
    "workflow": ChildKeys,
}
SPEC_KEYS: Mapping[StepType, tuple[str, ...]] = {kind: own.key_names() for kind, own in OWN_KEYS.items()}


def unknown_type_message(given: str, known: tuple[str, ...]) -> str:
    """Returns the error message for an unknown type of step."""
    if given in LATER_TYPES:
        return f"the step type `{given}` {NOT_YET}"
    meant = nearest(given, (*known, *LATER_TYPES))
    hint = f"; did you mean `{meant}`?" if meant else f" (there are: {', '.join(known)})"
    return f"unknown step type `{shorten(given)}`{hint}"
