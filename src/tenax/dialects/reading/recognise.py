"""Recognises the system that a document was written for, by its keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tenax.model.source.findings import nearest


@dataclass(frozen=True, slots=True)
class Signs:
    """Lists what is typical of the documents of one system."""

    api: tuple[str, ...] = ()
    """Prefixes of `apiVersion`. A document with one of them is of this system, whatever else it has."""
    kinds: tuple[str, ...] = ()
    top: Mapping[str, int] = field(default_factory=dict)
    """The keys at the top of a document, each with its score."""
    part: Mapping[str, int] = field(default_factory=dict)
    """The keys of the steps and of their parts, each with its score."""
    lists: tuple[str, ...] = ()
    """The keys at the top that hold the steps."""
    least: int = 3
    """The lowest score with which a document counts as one of this system."""

    def score(self, data: Any) -> int:
        if isinstance(data, list):
            return max((self.score(one) for one in data[:20]), default=0)
        if not isinstance(data, Mapping):
            return 0
        api, kind = data.get("apiVersion"), data.get("kind")
        if isinstance(api, str) and self.api:
            if not api.startswith(self.api):
                return 0
            return 100 if not self.kinds or kind in self.kinds else 0
        if isinstance(kind, str) and kind in self.kinds:
            return 50
        return self._of_keys(data)

    def _of_keys(self, data: Mapping[str, Any]) -> int:
        found = sum(weight for key, weight in self.top.items() if key in data)
        parts = [data, *(one for key in self.lists for one in _members(data.get(key)))]
        best = max((self._of_part(part) for part in parts), default=0)
        return found + best

    def _of_part(self, part: Mapping[str, Any]) -> int:
        keys = set(part)
        for value in part.values():
            if isinstance(value, Mapping):
                keys |= set(value)
        return sum(weight for key, weight in self.part.items() if key in keys)

    def knows(self, data: Any) -> bool:
        """Tells whether a document has any key of this system. That is enough if the user has named the system."""
        if isinstance(data, list):
            return any(self.knows(one) for one in data[:20])
        if not isinstance(data, Mapping):
            return False
        parts = [data, *(one for key in self.lists for one in _members(data.get(key)))]
        return not self.top.keys().isdisjoint(data) or any(
            not self.part.keys().isdisjoint(one) for one in parts
        )

    def likeness(self, data: Any) -> int:
        """Returns how much a document that was not recognised resembles those of this system."""
        data = next(iter(data), None) if isinstance(data, list) else data
        if not isinstance(data, Mapping):
            return 0
        known = {*self.top, *self.part, *(("apiVersion", "kind") if self.api else ())}
        total = sum(1 for key in list(data)[:100] if isinstance(key, str) and nearest(key, known) is not None)
        words = (*self.kinds, *(one.rstrip("/") for one in self.api))
        for key in ("kind", "apiVersion"):
            value = data.get(key)
            if isinstance(value, str) and words and nearest(value.partition("/")[0], words) is not None:
                total += 3
        return total


def _members(value: Any) -> list[Mapping[str, Any]]:
    listed = list(value.values()) if isinstance(value, Mapping) else value if isinstance(value, list) else []
    return [one for one in listed[:50] if isinstance(one, Mapping)]
