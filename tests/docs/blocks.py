"""Finds the code blocks of the docs, each with its place and with the mark before it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from generate import ROOT, pages

_BLOCK = re.compile(r"(?:<!-- ((?:run|file)[^>]*?) -->\n)?^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    place: str
    """`docs/policy.md:51`."""
    mark: str | None
    language: str
    text: str


def blocks(language: str) -> list[Block]:
    return [block for block in _all() if block.language == language]


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text("utf-8")
    return [
        Block(
            f"{page.relative_to(ROOT)}:{text.count(chr(10), 0, found.start(2)) + 1}",
            found[1],
            found[2],
            found[3],
        )
        for found in _BLOCK.finditer(text)
    ]


def _all() -> Iterator[Block]:
    for page in pages():
        yield from blocks_of(page)
