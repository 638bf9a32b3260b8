"""Reads the mappings of a foreign file. A key that nothing has read is reported, so nothing is left out silently."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tenax.dialects.reading.notes import Kind, Notes
from tenax.model.durations import LONGEST
from tenax.model.source.findings import Path, found_in_words, shorten

_NOTHING: Any = object()
_LARGEST = 10**15
"""The largest count that is read. A larger one is a mistake in every system."""


class Fields:
    """Reads one mapping, and remembers which of its keys were read."""

    def __init__(self, notes: Notes, path: Path, data: Mapping[str, Any]) -> None:
        self.notes = notes
        self.path = path
        self.data = data
        self._read: set[str] = set()

    def __contains__(self, key: str) -> bool:
        """Returns whether the key has a value. A key without one counts as absent."""
        return self.data.get(key) is not None

    def first_of(self, *keys: str) -> str:
        """Returns the first of these keys that has a value, or else the first key."""
        return next((key for key in keys if key in self), keys[0])

    # -- values

    def take(self, key: str, default: Any = None) -> Any:
        """Returns the value of a key with everything in it, or `default` if it has none."""
        self._read.add(key)
        value = self.data.get(key)
        return default if value is None else value

    def text(self, key: str, default: str = "") -> str:
        """Returns a text. A number or a boolean is taken as it was written."""
        value = self.take(key, default)
        if isinstance(value, str):
            return value
        if isinstance(value, int | float):
            return self.notes.source.written((*self.path, key)) or str(value)
        self._wrong(key, "text", value)
        return default

    def number(self, key: str, default: float = 0.0) -> float:
        value = self.take(key, _NOTHING)
        if value is _NOTHING:
            return default
        found = as_number(value)
        if found is None:
            self._wrong(key, "a number", value)
            return default
        return found

    def whole(self, key: str, default: int = 0) -> int:
        value = self.number(key, float(default))
        if value != int(value):
            self._wrong(key, "a whole number", value)
        if abs(value) > _LARGEST:
            self._wrong(key, f"a number up to {_LARGEST:,}", self.data[key])
            return default
        return int(value)

    def seconds(self, key: str, default: float = 0.0, *, per_second: float = 1.0) -> float:
        """Returns a duration. `default` and the written number are in units of which a second has `per_second`."""
        value = self.number(key, default) / per_second
        if value < 0:
            self.notes.mistake((*self.path, key), "a duration must not be negative")
            return default / per_second
        if value > LONGEST:
            self.note("changed", key, "is longer than 100 years, the longest duration")
        return min(value, LONGEST)

    def flag(self, key: str, *, default: bool) -> bool:
        value = self.take(key, default)
        if not isinstance(value, bool):
            self._wrong(key, "true or false", value)
            return default
        return value

    def one_of(self, key: str, choices: Mapping[str, str], default: str) -> str:
        """Returns the value that a word selects. Upper and lower case are different words, as in the other systems."""
        word = self.text(key, default)
        if word not in choices:
            self.notes.mistake(
                (*self.path, key), f"unknown value `{shorten(word)}` (there are: {', '.join(choices)})"
            )
            return choices[default]
        return choices[word]

    def mapping(self, key: str) -> dict[str, Any]:
        value = self.take(key, {})
        if not isinstance(value, dict):
            self._wrong(key, "a mapping", value)
            return {}
        return value

    def listed(self, key: str) -> list[Any]:
        """Returns a list. A single value is a list of one."""
        value = self.take(key, [])
        return value if isinstance(value, list) else [value]

    # -- parts

    def sub(self, key: str) -> Fields:
        """Returns the reader of a mapping. It is empty if there is none."""
        return Fields(self.notes, (*self.path, key), self.mapping(key))

    def part(self, key: str, *bare: str) -> Fields:
        """Returns the reader of a mapping, or of these keys of it if they stand here without it."""
        found = {one: self.data[one] for one in bare if one in self}
        if key in self or not found:
            return self.sub(key)
        self.ignore(*found)
        return Fields(self.notes, self.path, found)

    def each(self, key: str) -> list[Fields]:
        """Returns the readers of a list of mappings."""
        return list(self._each(key))

    def _each(self, key: str) -> Iterator[Fields]:
        for index, value in enumerate(self.listed(key)):
            if isinstance(value, dict):
                yield Fields(self.notes, (*self.path, key, index), value)
            else:
                self.notes.mistake(
                    (*self.path, key, index), f"expected a mapping, not {found_in_words(value)}"
                )

    # -- the report

    def note(self, kind: Kind, key: str | None, sentence: str) -> None:
        """Reports something at a key, which counts as read then, or at the mapping itself."""
        if key is not None:
            self._read.add(key)
        self.notes.add(kind, self.path if key is None else (*self.path, key), sentence)

    def ignore(self, *keys: str) -> None:
        """Counts keys as read that say nothing about what is run."""
        self._read.update(keys)

    def rest(self, reasons: Mapping[str, str] | None = None) -> None:
        """Reports every key that nothing has read. `reasons` says for known keys why they have no counterpart."""
        for key, value in self.data.items():
            if key in self._read or value is None or value == {} or value == []:
                continue
            why = (reasons or {}).get(key, "has no counterpart")
            self.note("dropped", key, f"`{shorten(key)}` {why}")

    def _wrong(self, key: str, wanted: str, value: Any) -> None:
        self.notes.mistake((*self.path, key), f"expected {wanted}, not {found_in_words(value)}")


def as_number(value: Any) -> float | None:
    """Returns a number, which may be written as text. Returns None if it is none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, str):
        try:
            found = float(value)
        except ValueError:
            return None
        return found if abs(found) < 1e18 else None
    return None
