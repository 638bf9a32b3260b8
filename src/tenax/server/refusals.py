"""Logs refused requests, with few lines even if there are many."""

from __future__ import annotations

import time

import structlog

LOG_EVERY = 10.0
"""Seconds between two log lines about refusals of one kind."""
_log = structlog.get_logger("tenax.server")


class Refusals:
    """Logs the first refusal of a kind. Then logs one every ten seconds, with the number of those that were not logged."""

    def __init__(self) -> None:
        self._kinds: dict[str, tuple[float, int]] = {}
        """For each kind: the time of the last line, and the number of refusals since then."""

    def log(self, kind: str, **about: object) -> None:
        now = time.monotonic()
        last, unlogged = self._kinds.get(kind, (now - LOG_EVERY, 0))
        if now - last < LOG_EVERY:
            self._kinds[kind] = (last, unlogged + 1)
            return
        self._kinds[kind] = (now, 0)
        _log.warning(kind, **about, refused_before=unlogged)
