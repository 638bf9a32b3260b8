"""Finds workers that finish their items at once.

Giving every worker a share of each claim is fair. For very short items it is expensive: each worker sends a request and
a report, and gets an answer, for a handful of items.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from tenax.model.wire import LeaseRequest

FAST_SECONDS = 0.1
"""Seconds within which a fast worker finishes its items.

Such a worker may have its whole request filled, since the others are served soon after.
"""
MOST_WORKERS = 10_000  # workers that are remembered


class WorkerSpeed:
    """Remembers the workers that finish their items at once."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._served: dict[str, tuple[int, float]] = {}
        """The slots that a worker had asked for when it was last given items, and the time of that."""
        self._fast: set[str] = set()

    def is_fast(self, worker: str) -> bool:
        return worker in self._fast

    def note_asked(self, request: LeaseRequest) -> None:
        """Notes a request. A worker with as many free slots as before has finished the items that it was given."""
        slots, at = self._served.pop(request.worker, (0, float("-inf")))
        if request.slots >= slots and self.clock() - at < FAST_SECONDS:
            self._fast.add(request.worker)
        else:
            self._fast.discard(request.worker)

    def note_served(self, request: LeaseRequest) -> None:
        if len(self._served) + len(self._fast) >= MOST_WORKERS:  # most of these workers are gone
            self._served.clear()
            self._fast.clear()
        self._served[request.worker] = request.slots, self.clock()
