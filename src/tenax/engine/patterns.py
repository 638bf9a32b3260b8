"""What is written of attempts that end alike, in a server's memory: the text, but for the few numbers that differ."""

from __future__ import annotations

import re
import secrets
from collections.abc import Hashable, Mapping
from itertools import islice
from typing import Any

from tenax.store.json_text import encode

MOST = 256
_SIGN = secrets.token_hex(8)
"""Nobody's text has it: it is made anew in each process, and leaves it nowhere."""
_MARKS = re.compile(f'"{_SIGN}(\\w+?){_SIGN}"|{_SIGN}(\\w+?){_SIGN}', re.ASCII)


def mark(name: str) -> str:
    """Stands for something that differs. Where it is all of a string, that can be any JSON; within one, it is text."""
    return f"{_SIGN}{name}{_SIGN}"


class Text:
    """JSON with gaps in it: where something was marked, its text is filled in."""

    def __init__(self, value: Any) -> None:
        text, found = encode(value), 0
        self._parts: list[str] = []
        for gap in _MARKS.finditer(text):
            self._parts += (text[found : gap.start()], gap[1] or gap[2])
            found = gap.end()
        self._gaps = self._parts[1::2]
        self._parts.append(text[found:])

    def fill(self, values: Mapping[str, str]) -> str:
        parts = self._parts[:]
        parts[1::2] = [values[name] for name in self._gaps]
        return "".join(parts)


class Patterns:
    """The youngest of them. The first of its kind leaves nothing but a note: most failures have no second."""

    def __init__(self) -> None:
        self._noted: dict[Hashable, None] = {}
        self._kept: dict[Hashable, Any] = {}

    def find(self, kind: Hashable) -> Any:
        return self._kept.get(kind)

    def note(self, kind: Hashable) -> bool:
        """Remembers that one of its kind was here. True: it was not the first, and a pattern is worth while."""
        if kind in self._noted:
            return True
        self._noted[kind] = None
        _shorten(self._noted)
        return False

    def keep(self, kind: Hashable, pattern: Any) -> None:
        self._kept[kind] = pattern
        _shorten(self._kept)


def _shorten(kinds: dict[Hashable, Any]) -> None:
    for kind in list(islice(kinds, max(0, len(kinds) - MOST))):
        del kinds[kind]
