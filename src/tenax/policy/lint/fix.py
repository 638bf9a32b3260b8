"""Removes keys without effect from the text of a file. A fix is made only if the file then reads as it did without the key."""

from __future__ import annotations

import contextlib
import copy
import re
from collections.abc import Iterable
from typing import Any

from tenax.errors import InvalidDefinition
from tenax.model.source.findings import Path
from tenax.model.source.yaml_source import read_source
from tenax.policy.lint.finding import LintFinding


def fix_text(text: str, findings: Iterable[LintFinding]) -> tuple[str, int]:
    """Returns the text with the fixes, and their number. The last places come first, so that the others stay where they are."""
    fixes = [one for one in findings if one.fix is not None and one.line is not None]
    done = 0
    for one in sorted(fixes, key=lambda one: (one.line or 0, one.column or 0), reverse=True):
        assert one.fix is not None
        changed = _without(text, one.fix.path)
        if changed is not None:
            text, done = changed, done + 1
    return text, done


def _without(text: str, path: Path) -> str | None:
    """Returns the text without the value at the path. Returns None if that is not certain."""
    source = read_source(text)
    place, written = source.place(path), source.written(path)
    if place is None or written is None or not path:
        return None
    wanted = _removed(copy.deepcopy(source.data), path)
    for candidate in _candidates(text, place, path[-1], written):
        with contextlib.suppress(InvalidDefinition):  # it is no YAML any more
            if read_source(candidate).data == wanted:
                return candidate
    return None


def _removed(data: Any, path: Path) -> Any:
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    return data


def _candidates(text: str, place: tuple[int, int], key: str | int, written: str) -> list[str]:
    """Returns texts without the entry: without its line, or without its part of the line."""
    lines = text.splitlines(keepends=True)
    line, column = place[0] - 1, place[1] - 1
    head, rest = lines[line][:column], lines[line][column:]
    value = r"""(?:"[^"\n]*"|'[^'\n]*'|""" + re.escape(written) + ")"
    entry = value if isinstance(key, int) else rf"""["']?{re.escape(key)}["']?\s*:\s*{value}"""
    found = []
    match = re.match(entry, rest)
    if match is not None:
        after = rest[match.end() :]
        found.append(head + re.sub(r"^\s*,\s*", "", after))
        found.append(re.sub(r",\s*$", "", head) + after)
    whole = [*lines[:line], *lines[line + 1 :]]
    texts = ["".join([*lines[:line], part, *lines[line + 1 :]]) for part in found]
    return ["".join(whole), *texts] if not head.strip(" -") else texts
