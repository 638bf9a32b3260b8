"""Tests fail where the event loop is held for too long."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager

from tenax.server.watchdog import Watchdog

LIMIT = 0.05
"""Seconds: the rule."""
MARGIN = float(os.environ.get("TENAX_TEST_LOOP_MARGIN", "3"))
"""Times the limit: a slow machine takes longer for the same work."""


@contextmanager
def free_loop() -> Iterator[Watchdog]:
    """Watches the running loop. What counts is the time that its thread has computed, not that which the machine had no time for it.

    What earlier tests have left in memory is not looked through meanwhile: a server has no such tests behind it.
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
