"""What the server itself carries out, without a worker: `sleep`, `wait` and `workflow`."""

from __future__ import annotations

import re
from typing import Any

from tenax.model.names import WORKFLOW_NAME
from tenax.model.parse.fields import Fields, is_template
from tenax.model.parse.findings import shorten
from tenax.model.times import parse_time

_REFERENCE = re.compile(rf"{WORKFLOW_NAME}(@\S{{1,200}})?")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def read_sleep(fields: Fields) -> dict[str, Any]:
    """`for` in seconds, or `at` as it was written; a template stays text."""
    _want_one(fields, ("for", "at"), "how long (`for: 5m`) or until when (`at: 2030-01-31T09:30:00Z`)")
    spec: dict[str, Any] = {}
    if "for" in fields:
        spec["for"] = fields.values["for"] if is_template(fields.values["for"]) else fields.duration("for")
    if "at" in fields:
        spec["at"] = _read_at(fields)
    return spec


def _read_at(fields: Fields) -> str | None:
    at = fields.text("at")
    if at is not None and not is_template(at):
        try:
            parse_time(at)
        except ValueError as error:
            fields.report("at", str(error))
    return at


def read_wait(fields: Fields) -> dict[str, Any]:
    """Without a `signal` it waits for an approval; without a `deadline` as long as it takes."""
    given = fields.values.get("signal")
    signal = fields.text("signal") if is_template(given) else fields.name("signal")
    return {"signal": signal, "deadline": fields.duration("deadline")}


def read_child(fields: Fields) -> dict[str, Any]:
    """Either a stored workflow by its name, or a file beside this one; and what it is given."""
    _want_one(fields, ("workflow", "file"), "the child's name (`workflow: NAME`) or its file (`file: PATH`)")
    spec: dict[str, Any] = {}
    if "workflow" in fields:
        spec["workflow"] = _read_reference(fields)
    if "file" in fields:
        spec["file"] = _read_file(fields)
    given = fields.values.get("input", {})
    if not isinstance(given, dict) and not is_template(given):
        fields.expect("a mapping of inputs, or a template that gives one", "input")
        given = {}
    spec["input"] = given
    return spec


def _read_reference(fields: Fields) -> str:
    name = fields.text("workflow") or ""
    if name and not fields.refuse_template("workflow") and not _REFERENCE.fullmatch(name):
        fields.report(
            "workflow", f"`{shorten(name)}` is not the name of a workflow: write NAME or NAME@VERSION"
        )
    return name


def _read_file(fields: Fields) -> str:
    path = fields.text("file") or ""
    if not path or fields.refuse_template("file"):
        return path
    if _SCHEME.match(path) or path.startswith(("/", "~")) or path.endswith("/") or "\\" in path:
        fields.report(
            "file", f"`{shorten(path)}` is not a path from this file's folder: write it as parts/child.yaml"
        )
    return path


def _want_one(fields: Fields, keys: tuple[str, str], what: str) -> None:
    first, second = keys
    if first in fields and second in fields:
        fields.report(second, f"`{first}` and `{second}` exclude each other: keep one")
    elif first not in fields and second not in fields:
        fields.miss(first, what)
