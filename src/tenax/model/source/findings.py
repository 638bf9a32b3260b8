"""Collects all mistakes in one file with their places, so that the author sees them at once."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Protocol

from tenax.errors import Finding, InvalidDefinition

Path = tuple[str | int, ...]

MOST_FINDINGS = 100
"""The number of findings after which reading ends. People read no further, and a hostile file must not cost more."""

NOT_YET = "is not supported by this version of Tenax yet"

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")
_NEAR = 0.6
_LONGEST_GUESSED = 60
_MOST_GUESSED = 500
_MOST_LISTED = 20
_LONGEST_MESSAGE = 600


def format_path(path: Path) -> str:
    """Formats a key path for people: `workflow[0].retry.max_attempts`."""
    parts: list[str] = []
    for key in path:
        if isinstance(key, int):
            parts.append(f"[{key}]")
        elif _PLAIN_KEY.fullmatch(key):
            parts.append(f".{shorten(key)}" if parts else shorten(key))
        else:
            parts.append(f'["{shorten(key)}"]')
    return "".join(parts)


def shorten(text: str, limit: int = 60) -> str:
    """Returns a user's text for use within a message: on one line, and shortened."""
    line = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text[: limit + 1])
    return line if len(text) <= limit else line[:limit] + "..."


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Returns the known name that was probably meant, or None. The effort is bounded, since a file may have thousands of names."""
    if len(name) > _LONGEST_GUESSED:
        return None
    candidates: list[str] = []
    for candidate in known:
        if candidate.lower() == name.lower():
            return candidate
        # Names whose lengths differ this much cannot be similar.
        short, long = sorted((len(candidate), len(name)))
        if 2 * short >= _NEAR * (short + long) and len(candidates) < _MOST_GUESSED:
            candidates.append(candidate)
    return next(iter(difflib.get_close_matches(name, candidates, n=1, cutoff=_NEAR)), None)


def suggest(name: str, known: Collection[str]) -> str:
    """Returns the end of a message about an unknown name: the nearest known name, or else all known names if they are few."""
    meant = nearest(name, known)
    if meant is not None:
        return f"; did you mean `{meant}`?"
    if 0 < len(known) <= _MOST_LISTED:
        return f" (there are: {', '.join(known)})"
    return ""


def suggest_or_list(name: str, known: Iterable[str]) -> str:
    """Returns the end of a message about an unknown name: the nearest known name, or else all of them."""
    names = list(known)
    meant = nearest(name, names)
    return f"; did you mean `{meant}`?" if meant is not None else f"; known are {', '.join(names)}"


def name_kind(value: Any) -> str:
    """Returns the kind of a value, in words for the author of a file."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "a mapping"


def found_in_words(value: Any) -> str:
    """Returns what a value is in words for the author of a file. A short value is included."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return "a number" if isinstance(value, int) and abs(value) > 10**20 else f"the number {value}"
        case str():
            return f"the text {value!r}" if len(value) <= 40 else f"the text {value[:40]!r}..."
        case Mapping():
            return "a mapping"
        case list() | tuple():
            return "a list"
        case _:
            return f"a value of type {type(value).__name__}"


def describe_mismatch(wanted: str, found: Any, written: str | None) -> str:
    """Says what was expected and what was found. If YAML read an unquoted text as another type, also says to quote it."""
    if isinstance(found, list | dict) or not written:
        return f"expected {wanted}, found {name_kind(found)}"
    message = f"expected {wanted}, found {name_kind(found)} ({shorten(written)})"
    if wanted.startswith("text"):
        message += f': quote it: "{shorten(written)}"'
    return message


def more_to_come(file: str | None) -> Finding:
    return Finding(f"these are the first {MOST_FINDINGS} errors; there may be more", file=file)


class Source(Protocol):
    """Is a file that was read: its syntax errors, and the places of its values."""

    findings: list[Finding]
    filename: str | None

    @property
    def data(self) -> Any:
        """Returns the whole file as plain data."""

    def place(self, path: Path) -> tuple[int, int] | None:
        """Returns the line and the column of a key path."""

    def written(self, path: Path) -> str | None:
        """Returns the text of a value, as it is in the file."""

    def value(self, path: Path) -> Any:
        """Returns a value as plain data."""

    def size(self, path: Path) -> int:
        """Returns the number of values at a key path and below."""


class Findings:
    """Holds the findings of one source. A key path gives the place of each finding."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._found: list[Finding] = list(source.findings)

    def __len__(self) -> int:
        return len(self._found)

    def add(self, path: Path, message: str) -> None:
        """Reports `message` at `path`, unless the value there was already reported as unreadable."""
        place = self.source.place(path)
        if place is None:
            return
        line, column = place
        self._found.append(
            Finding(
                shorten(message, _LONGEST_MESSAGE),
                path=format_path(path),
                file=self.source.filename,
                line=line,
                column=column,
            )
        )
        if len(self._found) >= MOST_FINDINGS:
            self.raise_if_any()

    def mismatch(self, wanted: str, found: Any, path: Path) -> None:
        """Reports a value of the wrong type."""
        self.add(path, describe_mismatch(wanted, found, self.source.written(path)))

    def raise_if_any(self) -> None:
        """Raises the findings in the order of the file. Does nothing if there are none."""
        if not self._found:
            return
        ordered = sorted(self._found, key=lambda finding: (finding.line or 0, finding.column or 0))
        if len(ordered) >= MOST_FINDINGS:
            ordered = ordered[:MOST_FINDINGS]
            ordered.append(more_to_come(self.source.filename))
        raise InvalidDefinition(ordered)
