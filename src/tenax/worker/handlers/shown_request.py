"""Shows what an attempt was asked to do, for the record of its failure: without secrets, and cut to a bounded size."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

from tenax.model.wire import Assignment

LONGEST_TEXT = 1000
"""Characters of each text."""
LARGEST = 4000
"""Bytes of each part as JSON. A larger part becomes a text with its beginning."""
HIDDEN = "[hidden]"

_PARTS = {
    "http": ("method", "url", "params", "headers", "json", "body"),
    "process": ("command", "cwd", "env", "params"),
    "python": ("task", "args"),
    "agent": ("command", "role", "model", "tier", "prompt"),
    "action": ("action", "params"),
}
_SENSITIVE = re.compile(
    r"authori[sz]ation|cookie|password|passwd|secret|token|api[-_]?key|credential|private", re.IGNORECASE
)
_USER = re.compile(r"(?<=://)[^/?#@\s]*@")


def shown_request(assignment: Assignment) -> dict[str, Any]:
    """Returns the rendered keys of the step that matter. The assignment must not have its secrets filled in."""
    spec = _with_names_of_secrets(assignment)
    found = {name: spec[name] for name in _PARTS.get(assignment.runtime, ()) if spec.get(name) is not None}
    if "url" in found:
        found["url"] = _USER.sub("", str(found["url"]))
    return {name: _cut(_hidden(value)) for name, value in found.items()}


def _with_names_of_secrets(assignment: Assignment) -> dict[str, Any]:
    """Returns the keys with the names of secrets in the places of their values."""
    if not assignment.secrets:
        return assignment.spec
    spec = orjson.loads(orjson.dumps(assignment.spec))
    for path, parts in assignment.secrets:
        place = spec
        for key in path[:-1]:
            place = place[key]
        texts = [part if isinstance(part, str) else f"[secret {part['secret']}]" for part in parts]
        place[path[-1]] = "".join(texts)
    return dict(spec)


def _hidden(value: Any) -> Any:
    """Hides values whose names say that they are confidential, also if they are no secrets of the worker."""
    match value:
        case Mapping():
            return {
                str(name): HIDDEN if _is_confidential(str(name), part) else _hidden(part)
                for name, part in value.items()
            }
        case list():
            return [_hidden(part) for part in value]
        case str() if len(value) > LONGEST_TEXT:
            return f"{value[:LONGEST_TEXT]} [{len(value) - LONGEST_TEXT} characters more]"
        case _:
            return value


def _is_confidential(name: str, value: Any) -> bool:
    return isinstance(value, str) and not value.startswith("[secret ") and _SENSITIVE.search(name) is not None


def _cut(value: Any) -> Any:
    text = orjson.dumps(value)
    if len(text) <= LARGEST:
        return value
    return f"{text[:LONGEST_TEXT].decode(errors='replace')} [{len(text) - LONGEST_TEXT} bytes more]"
