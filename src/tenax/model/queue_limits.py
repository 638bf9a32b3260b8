"""What an operator may ask of a queue: how much of it runs at once, and how much starts in a second."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """None: no such limit."""

    concurrency: int | None = None
    rate: float | None = None
    """Starts in a second."""
    burst: int | None = None
    """How many may start at once after a pause; None with a rate: the usual."""


def usual_burst(rate: float) -> int:
    """As many as the rate lets start in a second."""
    return max(math.ceil(rate), 1)
