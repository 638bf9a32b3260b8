"""What could not be dealt with is left alone for a while: it must neither stop the others nor be forgotten."""

from __future__ import annotations

import time

PAUSE = 60.0
"""Seconds before it is tried again."""


class SetAside:
    def __init__(self) -> None:
        self._until: dict[int, float] = {}

    def put(self, id_: int) -> None:
        self._until[id_] = time.monotonic() + PAUSE

    @property
    def ids(self) -> list[int]:
        """What is to be left alone now."""
        now = time.monotonic()
        self._until = {id_: until for id_, until in self._until.items() if until > now}
        return list(self._until)
