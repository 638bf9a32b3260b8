"""Gives no work for a while to workers that hand the same items back again and again.

For example, a worker that cannot read an item would lease and return it for ever, and each round would write to the log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import structlog

FREE = 5
"""Times that a worker may hand an item back without a rest. A worker may be restarted or disconnected in the middle of
its work."""
FIRST_REST = 1.0  # seconds of the first rest
LONGEST_REST = 60.0  # seconds of a rest at most
_ITEMS = 1000
"""Items that are remembered for each worker."""
_log = structlog.get_logger("tenax.fleet")


@dataclass(slots=True)
class _Returned:
    """Holds the items that a worker has handed back since it last ended an attempt."""

    times: dict[int, int] = field(default_factory=dict)
    rest_until: float = 0.0


class WorkerRests:
    """Keeps the rests of workers in memory. After a restart of the server each worker begins without one."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._of: dict[str, _Returned] = {}

    def note_handed_back(self, worker: str, items: Sequence[int]) -> None:
        """Counts how often a worker hands items back. Beyond `FREE` times for one item the worker rests, twice as long
        each time."""
        returned = self._of.setdefault(worker, _Returned())
        if len(returned.times) > _ITEMS:
            returned.times.clear()
        for item in items:
            returned.times[item] = returned.times.get(item, 0) + 1
        too_often = max(returned.times[item] for item in items) - FREE
        if too_often <= 0:
            return
        seconds = min(FIRST_REST * 2 ** min(too_often - 1, 10), LONGEST_REST)
        loop = asyncio.get_running_loop()
        if not returned.rest_until:
            _log.warning(
                "a worker hands the same work back again and again: it gets none for a while, each time longer",
                worker=worker,
                remedy="look at the worker's own log",
            )
        returned.rest_until = loop.time() + seconds
        loop.call_later(seconds, self._wake)

    def is_resting(self, worker: str) -> bool:
        returned = self._of.get(worker)
        return returned is not None and asyncio.get_running_loop().time() < returned.rest_until

    def end(self, worker: str) -> None:
        """Ends the rest of a worker that has ended an attempt or has started again."""
        if self._of:
            self._of.pop(worker, None)
