"""Counts the lines of the quick starts of other systems, and those of Tenax, in the page about coming from them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from generators.tables import table

PAGE = Path(__file__).parents[3] / "docs/coming-from.md"
_SECTION = re.compile(r"^## (\w+)\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)
_PART = re.compile(r"^\*\*(\w+)\*\*\n(.*?)(?=^\*\*\w+\*\*\n|^\||\Z)", re.DOTALL | re.MULTILINE)
_FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class QuickStart:
    """Is the quick start of one system, beside that of Tenax."""

    system: str
    commands: int
    lines: int


def quick_starts() -> dict[str, tuple[QuickStart, QuickStart]]:
    """Returns for each system its quick start, and the same with Tenax."""
    found: dict[str, tuple[QuickStart, QuickStart]] = {}
    for system, text in _SECTION.findall(PAGE.read_text("utf-8")):
        parts = {name: _counted(name, body) for name, body in _PART.findall(text)}
        found[system] = (parts[system], parts["Tenax"])
    return found


def _counted(name: str, text: str) -> QuickStart:
    commands = lines = 0
    for language, body in _FENCED.findall(text):
        if language == "console":
            commands += sum(line.startswith("$ ") for line in body.splitlines())
        else:
            lines += sum(
                bool(line.strip()) and not line.strip().startswith("#") for line in body.splitlines()
            )
    return QuickStart(name, commands, lines)


def first_minutes() -> str:
    rows = [
        (system, f"{theirs.commands} + {theirs.lines}", f"{ours.commands} + {ours.lines}")
        for system, (theirs, ours) in quick_starts().items()
    ]
    return table(("commands + lines of code", "theirs", "Tenax"), rows)


BLOCKS: Mapping[str, Callable[[], str]] = {"first-minutes": first_minutes}
