"""Prints the details of a failed attempt: the ends of its traceback and of its stderr."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tenax.drawing.text_lines import printable

SHOWN_LINES = 8
_TEXTS = {"traceback": "traceback", "stderr_tail": "the end of its stderr"}
_HEAD = frozenset({"class", "reason", "message", "step", "attempts", *_TEXTS})


def last_lines(failure: Mapping[str, Any], *, whole: str) -> list[str]:
    """Returns the last lines of each text, indented. `whole` is the command that prints all of it.

    A text of one line that the message already contains is left out.
    """
    lines: list[str] = []
    for name, title in _TEXTS.items():
        found = _lines(failure.get(name))
        if not found or (len(found) == 1 and found[0].strip() in str(failure.get("message"))):
            continue
        cut = len(found) - SHOWN_LINES
        lines.append(
            f"  {title}{f', its last {SHOWN_LINES} lines of {len(found)} (all: {whole})' if cut > 0 else ''}:"
        )
        lines += (f"    {line}".rstrip() for line in found[-SHOWN_LINES:])
    return lines


def everything(failure: Mapping[str, Any]) -> Iterator[str]:
    """Yields all details: the facts, one in each line, then the texts."""
    for name, value in failure.items():
        if name not in _HEAD and value is not None:
            shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
            yield f"  {name}: {' '.join(printable(shown).split())}"
    for name, title in _TEXTS.items():
        if found := _lines(failure.get(name)):
            yield f"  {title}:"
            yield from (f"    {line}".rstrip() for line in found)


def _lines(text: Any) -> list[str]:
    return printable(str(text)).strip("\n").splitlines() if text else []
