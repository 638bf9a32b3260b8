"""Python's search for cycles of garbage, in a process that has hundreds of attempts in its hands."""

from __future__ import annotations

import gc

GC_THRESHOLD = 10_000
"""New objects between two searches. With Python's own 700, hundreds of live attempts are looked through again and again: a fifth
of the time."""


def collect_rarely() -> None:
    """Once all is imported: what is there now is not looked through any more, and what comes is, but rarely."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD)
