"""Makes tests fail if the event loop is held for too long."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager

from tenax.server.watchdog import Watchdog

LIMIT = 0.05
"""Seconds for which the loop may be held."""
MARGIN = float(os.environ.get("TENAX_TEST_LOOP_MARGIN", "3"))
"""A factor of the limit, since a slow machine takes longer for the same work."""


@contextmanager
def free_loop() -> Iterator[Watchdog]:
    """Watches the running loop. Only the time that its thread computed counts, not the time in which the machine was busy.

    Objects of earlier tests are excluded from garbage collection meanwhile, since a server has no such objects.
    """
    gc.collect()
    gc.freeze()
    try:
        watchdog = Watchdog(LIMIT)
        with watchdog.watching():
            yield watchdog
    finally:
        gc.unfreeze()
    assert watchdog.busiest <= LIMIT * MARGIN, f"the loop was held for {1000 * watchdog.busiest:.0f} ms"
