"""Collects what an import has to say about a foreign file, each entry with its line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from tenax.errors import Finding, InvalidDefinition
from tenax.model.source.findings import MOST_FINDINGS, Path, format_path, shorten
from tenax.model.source.yaml_source import YamlSource

Kind = Literal["understood", "changed", "dropped"]
"""`understood` has an exact counterpart. `changed` has one that differs, and the entry says how. `dropped` has none."""

_LONGEST_SENTENCE = 600  # characters


@dataclass(frozen=True, slots=True)
class Entry:
    """Says what became of one part of a foreign file."""

    kind: Kind
    sentence: str
    path: str = ""
    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line) if part is not None)
        return ": ".join(part for part in (place, self.kind, self.path, self.sentence) if part)

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("kind", "file", "line", "path", "sentence")}


class Notes:
    """Collects the entries and the mistakes of one document."""

    def __init__(self, source: YamlSource) -> None:
        self.source = source
        self._entries: dict[Entry, None] = {}
        self._mistakes: list[Finding] = []
        for finding in source.findings:
            sentence = f"this value cannot be read and was left out: {finding.message}"
            self._entries[Entry("dropped", sentence, finding.path, finding.file, finding.line)] = None

    def add(self, kind: Kind, path: Path, sentence: str) -> None:
        entry = Entry(
            kind,
            shorten(sentence, _LONGEST_SENTENCE),
            format_path(path),
            self.source.filename,
            self.line(path),
        )
        self._entries[entry] = None  # a part that is used twice is reported once

    def mistake(self, path: Path, message: str) -> None:
        """Reports a mistake in the file: a value that the other system could not read either."""
        line, column = self._place(path)
        self._mistakes.append(
            Finding(
                shorten(message, _LONGEST_SENTENCE),
                path=format_path(path),
                file=self.source.filename,
                line=line,
                column=column,
            )
        )
        if len(self._mistakes) >= MOST_FINDINGS:
            self.raise_mistakes()

    def raise_mistakes(self) -> None:
        if self._mistakes:
            raise InvalidDefinition(self._mistakes)

    def line(self, path: Path) -> int | None:
        return self._place(path)[0]

    def _place(self, path: Path) -> tuple[int, int] | tuple[None, None]:
        """Returns the line and the column of a path. If a value cannot be read, they are those of what holds it."""
        for end in range(len(path), -1, -1):
            place = self.source.place(path[:end])
            if place is not None:
                return place
        return None, None

    def entries(self) -> list[Entry]:
        """Returns the entries in the order of the file."""
        return in_order(self._entries)


def in_order(entries: Iterable[Entry]) -> list[Entry]:
    return sorted(entries, key=lambda entry: entry.line or 0)
