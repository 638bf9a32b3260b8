"""Limits the large values in one view: results, and the evidence of failures."""

from __future__ import annotations

from tenax.model.execution_views import Event, brief_failure, left_out
from tenax.model.json_text import encode

SMALL = 1000
"""Bytes of a value that is always shown."""


class ViewRoom:
    """Counts the bytes of large values. A value without room is replaced by a marker."""

    def __init__(self, size: int) -> None:
        self._left = size

    def fit(self, event: Event) -> None:
        """Replaces the large values of an event that have no room."""
        data = event.data
        if "result" in data and (size := self._missing(data["result"])):
            data["result"] = left_out(size)
        if (failure := data.get("failure")) and self._missing(failure):
            data["failure"] = brief_failure(failure)

    def _missing(self, value: object) -> int:
        """Takes room for a value. Returns 0, or the value's size if there is no room for it."""
        size = len(encode(value))
        if size <= SMALL:
            return 0
        if size > self._left:
            return size
        self._left -= size
        return 0
