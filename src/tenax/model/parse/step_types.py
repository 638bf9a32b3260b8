"""What each type of step takes, with its defaults. Those that need no worker are in `tenax.model.parse.server_steps`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from tenax.model.definition.workflow import StepType
from tenax.model.parse.fields import Fields
from tenax.model.parse.findings import NOT_YET, nearest, shorten
from tenax.model.parse.server_steps import read_child, read_sleep, read_wait

SPEC_KEYS: Mapping[StepType, tuple[str, ...]] = {
    "http": ("url", "method", "headers", "params", "json", "body", "follow_redirects", "async"),
    "process": ("command", "env", "cwd", "params"),
    "python": ("task", "args"),
    "sleep": ("for", "at"),
    "wait": ("signal", "deadline"),
    "workflow": ("workflow", "file", "input"),
}
LATER_TYPES = ("agent", "pod")

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):", re.ASCII)
_TASK_REFERENCE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
_TASK_NAME = re.compile(r"[\w.-]+")


def read_spec(step_type: StepType, fields: Fields) -> dict[str, Any]:
    """The keys of the step's own type. Templates in them stay text: they are rendered when an attempt is leased."""
    return _READERS[step_type](fields)


def _read_http(fields: Fields) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "url": _read_url(fields),
        "method": _read_method(fields),
        "headers": _read_headers(fields),
        "params": _read_query(fields),
        "follow_redirects": _read_follow_redirects(fields),
    }
    if "json" in fields:
        spec["json"] = fields.values["json"]
    if "body" in fields:
        spec["body"] = _read_body(fields)
    if "json" in fields and "body" in fields:
        fields.report("body", "`json` and `body` exclude each other: keep one")
    if "async" in fields:
        spec["async"] = _read_async(fields)
    return spec


def _read_async(fields: Fields) -> dict[str, Any]:
    own = fields.below("async")
    if own is None:
        return {}
    own.refuse_unknown(("deadline",), within="in `async`")
    if "deadline" not in own:
        own.miss("deadline", "how long the callee may take to call back, such as 1h")
    return {"deadline": own.duration("deadline")}


def _read_url(fields: Fields) -> str:
    if "url" not in fields:
        fields.miss("url", "an http step needs the address it calls")
        return ""
    url = fields.text("url") or ""
    before_template = url.split("{{", 1)[0]
    if not url or (before_template != url and not _SCHEME.match(before_template)):
        return url
    try:
        parts = urlsplit(before_template)
        sound = parts.scheme in ("http", "https") and (bool(parts.hostname) or before_template != url)
        sound = sound and (before_template != url or parts.port is None or parts.port > 0)
    except ValueError:
        sound = False
    if not sound:
        fields.report(
            "url", f"`{shorten(url)}` is not a web address: it begins with http:// or https:// and a host"
        )
    return url


def _read_method(fields: Fields) -> str:
    method = fields.text("method", "GET") or "GET"
    if "{{" in method or method.upper() in _METHODS:
        return method if "{{" in method else method.upper()
    meant = nearest(method, _METHODS)
    hint = f"; did you mean {meant}?" if meant else f" (there are: {', '.join(_METHODS)})"
    fields.report("method", f"unknown method `{shorten(method)}`{hint}")
    return "GET"


def _read_headers(fields: Fields) -> dict[str, str]:
    headers = fields.text_mapping("headers")
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name):
            fields.report("headers", f"`{shorten(name)}` cannot be the name of a header", name)
        elif "\n" in value or "\r" in value:
            fields.report(
                "headers", "a header's value is one line; in YAML use > instead of |, or quotes", name
            )
    return headers


def _read_query(fields: Fields) -> dict[str, Any] | str:
    """`params` of the address: each a text, number or boolean, or a list of these."""
    given = fields.values.get("params", {})
    if isinstance(given, str) and "{{" in given:
        return given
    params = fields.mapping("params") or {}
    for name, value in params.items():
        values = value if isinstance(value, list) else [value]
        if any(isinstance(v, list | dict) for v in values):
            fields.report("params", "expected text, a number, or a list of these", name)
    return params


def _read_follow_redirects(fields: Fields) -> bool | str:
    given = fields.values.get("follow_redirects")
    if isinstance(given, str) and "{{" in given:
        return given
    return fields.flag("follow_redirects", default=True)


def _read_body(fields: Fields) -> str:
    body = fields.values["body"]
    if isinstance(body, str):
        return body
    if isinstance(body, list | dict):
        fields.report("body", "`body` is text as it is sent; for a list or a mapping use `json`")
    else:
        fields.expect("text", "body")
    return ""


def _read_process(fields: Fields) -> dict[str, Any]:
    env = fields.text_mapping("env")
    for name in env:
        if "=" in name:
            fields.report("env", f"`{shorten(name)}` cannot be the name of an environment variable", name)
    return {
        "command": _read_command(fields),
        "env": env,
        "cwd": fields.text("cwd"),
        "params": fields.values.get("params", {}),
    }


def _read_command(fields: Fields) -> str | list[str]:
    if "command" not in fields:
        fields.miss("command", "a process step needs what it runs, as text (for sh -c) or as a list")
        return ""
    command = fields.values["command"]
    if isinstance(command, list):
        words = fields.text_list("command")
        if words and not words[0].strip():
            fields.report("command", "the program to run must not be empty", 0)
        return words
    if isinstance(command, str):
        return fields.text("command") or ""
    fields.expect("text or a list of text", "command")
    return ""


def _read_python(fields: Fields) -> dict[str, Any]:
    args = fields.values.get("args", {})
    if not isinstance(args, dict | list) and not (isinstance(args, str) and "{{" in args):
        fields.expect("a mapping (by name), a list (by position) or a template that gives one", "args")
        args = {}
    return {"task": _read_task(fields), "args": args}


def _read_task(fields: Fields) -> str:
    if "task" not in fields:
        fields.miss("task", "a python step needs its function, as module:function or by its registered name")
        return ""
    task = fields.text("task") or ""
    if "{{" in task:
        fields.report(
            "task", "`task` cannot be a template: the server must know what a step runs before it runs"
        )
    elif task and not (_TASK_REFERENCE if ":" in task else _TASK_NAME).fullmatch(task):
        fields.report("task", f"`{shorten(task)}` is neither module:function nor the name of a task")
    return task


_READERS: Mapping[StepType, Callable[[Fields], dict[str, Any]]] = {
    "http": _read_http,
    "process": _read_process,
    "python": _read_python,
    "sleep": read_sleep,
    "wait": read_wait,
    "workflow": read_child,
}


def refuse_type(name: str, known: tuple[str, ...]) -> str:
    """Why there is no such type of step."""
    if name in LATER_TYPES:
        return f"the step type `{name}` {NOT_YET}"
    meant = nearest(name, (*known, *LATER_TYPES))
    hint = f"; did you mean `{meant}`?" if meant else f" (there are: {', '.join(known)})"
    return f"unknown step type `{shorten(name)}`{hint}"
