"""Lines of the log about refused requests: few, however many there are."""

from __future__ import annotations

import time

import structlog

LOG_EVERY = 10.0
"""Seconds between two lines about refusals of one kind."""
_log = structlog.get_logger("tenax.server")


class Refusals:
    """Logs the first refusal of a kind, and then one in ten seconds with the number of those that were not logged."""

    def __init__(self) -> None:
        self._kinds: dict[str, tuple[float, int]] = {}
        """By kind: when the last line was written, and how many refusals there were since."""

    def log(self, kind: str, **about: object) -> None:
        now = time.monotonic()
        last, unlogged = self._kinds.get(kind, (now - LOG_EVERY, 0))
        if now - last < LOG_EVERY:
            self._kinds[kind] = (last, unlogged + 1)
            return
        self._kinds[kind] = (now, 0)
        _log.warning(kind, **about, refused_before=unlogged)
