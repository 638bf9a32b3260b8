"""Writes tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]
    lines += ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def code(text: object) -> str:
    return f"`{text}`"


def codes(texts: Iterable[object], *, none: str = "none") -> str:
    return ", ".join(code(text) for text in texts) or none


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")
