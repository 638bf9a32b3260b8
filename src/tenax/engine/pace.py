"""How soon workers come back for more. A share of each claim for everyone who asks is fair; for work that is over in a moment it is
dear: a request, an answer and a report for a handful of items, in every worker there is."""

from __future__ import annotations

import time
from collections.abc import Callable

from tenax.model.wire import LeaseRequest

BRISK_SECONDS = 0.1
"""Who has ended within this time whatever it was given may have all that it asks for: the others' turn comes as soon."""
MOST_WORKERS = 10_000


class Pace:
    """Which workers are done in a moment with what they are given."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._served: dict[str, tuple[int, float]] = {}
        """How many slots a worker had asked for when it was given something, and when that was."""
        self._brisk: set[str] = set()

    def is_brisk(self, worker: str) -> bool:
        return worker in self._brisk

    def note_asked(self, request: LeaseRequest) -> None:
        """Who has as many free slots as before has ended as much as it was given."""
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
