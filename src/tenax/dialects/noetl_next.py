"""Reads the entries of `next` in playbooks of NoETL."""

from __future__ import annotations

from typing import Any

from tenax.dialects.reading.fields import Fields
from tenax.model.source.findings import Path


def targets_of(one: Any, when: str | None, step: Fields, path: Path) -> list[tuple[str, str | None, Path]]:
    """Returns the targets of one entry of `next`: a name, `{step: NAME}`, or `{when: ..., then: [...]}`."""
    if isinstance(one, str):
        return [(one, when, path)]
    if not isinstance(one, dict):
        return []
    entry = Fields(step.notes, path, one)
    entry.ignore("step", "when", "then", "else", "desc")
    entry.rest(
        dict.fromkeys(
            ("args", "set", "data", "with"), "is not carried over: read the results of steps instead"
        )
    )
    own = str(one["when"]) if one.get("when") is not None else when
    if "step" in one:
        return [(str(one["step"]), own, path)]
    key = "then" if one.get("then") else "else"
    inner = one.get(key) or []
    found: list[tuple[str, str | None, Path]] = []
    for index, below in enumerate(inner if isinstance(inner, list) else [inner]):
        place = (*path, key, index) if isinstance(inner, list) else (*path, key)
        found += targets_of(below, own, step, place)
    return found
