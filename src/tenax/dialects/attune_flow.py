"""Reads which task of an Attune workflow follows which: `next`, and the older `on_success` and `on_failure`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tenax.dialects.native.templates import condition
from tenax.dialects.native.transitions import Edge, On, Ways
from tenax.dialects.reading.fields import Fields
from tenax.model.source.findings import Path

_STATES: Mapping[str, On] = {
    "succeeded()": "completed",
    "failed()": "failed",
    "completed()": "any",
    "timed_out()": "failed",
}
_STATE = re.compile(r"\b(succeeded|failed|completed|timed_out)\(\)")
_OLDER: Mapping[str, On] = {"on_success": "completed", "on_failure": "failed"}


def edges_of(tasks: Mapping[str, Fields]) -> dict[str, list[Edge]]:
    """Returns the edges that lead to each task. Edges back to an earlier task are reported and left out."""
    found = Ways()
    for name, task in tasks.items():
        for target, edge in _outgoing(name, task):
            if target not in tasks:
                task.notes.mistake(edge.path, f"leads to `{target}`, and there is no such task")
            elif not found.add(target, edge):
                task.notes.add(
                    "dropped", edge.path, f"leads back to `{target}`: a workflow has no loops; use `until`"
                )
    return found.into


def _outgoing(name: str, task: Fields) -> Iterator[tuple[str, Edge]]:
    listed = task.data.get("next")
    for index, one in enumerate(listed if isinstance(listed, list) else [listed]):
        path: Path = (*task.path, "next", index)
        if isinstance(one, str):
            yield one, Edge(name, "completed", None, path)
        elif isinstance(one, dict):
            _report_rest(task, one, path)
            yield from _branch(name, one, "completed", path)
    for key, on in _OLDER.items():
        _report_older(task, task.data.get(key), (*task.path, key))
        for target, when in _older_targets(task.data.get(key), None):
            yield target, Edge(name, on, when, (*task.path, key))


def _report_rest(task: Fields, one: dict[str, Any], path: Path) -> None:
    reader = Fields(task.notes, path, one)
    reader.ignore("when", "do", "next", "publish", "label", "color", "__chart_meta__")
    reader.rest()


def _report_older(task: Fields, value: Any, path: Path) -> None:
    for index, one in enumerate(value if isinstance(value, list) else []):
        if isinstance(one, dict):
            _report_rest(task, one, (*path, index))
            _report_older(task, one.get("do"), (*path, index, "do"))


def _branch(name: str, one: Mapping[str, Any], default: On, path: Path) -> Iterator[tuple[str, Edge]]:
    on, when = _state_of(one.get("when"), default)
    targets = one.get("do") or []
    for target in targets if isinstance(targets, list) else [targets]:
        yield str(target), Edge(name, on, when, path)


def _older_targets(value: Any, when: str | None) -> Iterator[tuple[str, str | None]]:
    for one in value if isinstance(value, list) else [] if value is None else [value]:
        if isinstance(one, dict):
            own = str(one["when"]) if one.get("when") is not None else None
            both = f"({condition(when)}) and ({condition(own)})" if when and own else own or when
            yield from _older_targets(one.get("do", one.get("next")), both)
        else:
            yield str(one), when


def _state_of(when: Any, default: On) -> tuple[On, str | None]:
    """Returns the state that a condition asks for, and what is left of the condition."""
    if when is None:
        return default, None
    text = condition(str(when))
    if text in _STATES:
        return _STATES[text], None
    named = _STATE.search(text)
    if named is None:
        return "any", text
    rest = re.sub(r"\s+(and|&&)\s+$|^\s*(and|&&)\s+", "", _STATE.sub("", text, count=1)).strip()
    return _STATES[named[0]], rest or None
