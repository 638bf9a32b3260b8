"""Tells which workers finish their items at once.

To give every worker a share of each claim is fair. For items that take a moment it is expensive: each worker sends a request and a
report, and gets an answer, for a handful of items.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from tenax.model.wire import LeaseRequest

BRISK_SECONDS = 0.1
"""A worker that finishes what it was given within this time may have its whole request filled: the turn of the others comes soon."""
MOST_WORKERS = 10_000


class WorkerSpeed:
    """Remembers which workers finish in a moment what they are given."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._served: dict[str, tuple[int, float]] = {}
        """The slots that a worker had asked for when it was last given something, and the time of that."""
        self._brisk: set[str] = set()

    def is_brisk(self, worker: str) -> bool:
        return worker in self._brisk

    def note_asked(self, request: LeaseRequest) -> None:
        """A worker that has as many free slots as before has finished as many items as it was given."""
        slots, at = self._served.pop(request.worker, (0, float("-inf")))
        if request.slots >= slots and self.clock() - at < BRISK_SECONDS:
            self._brisk.add(request.worker)
        else:
            self._brisk.discard(request.worker)

    def note_served(self, request: LeaseRequest) -> None:
        if len(self._served) + len(self._brisk) >= MOST_WORKERS:  # most of these are gone
            self._served.clear()
            self._brisk.clear()
        self._served[request.worker] = request.slots, self.clock()
