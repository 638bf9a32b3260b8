"""Measures what one server process does: the sizes of batches, and how long their transactions take."""

from __future__ import annotations

from bisect import bisect_left
from typing import Literal

SIZE_BOUNDS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)  # calls of one batch
SECOND_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)
"""Seconds from the beginning of a batch's transaction to its commit."""
Batch = Literal["submissions", "claims", "reports"]


class Histogram:
    """Counts values in buckets."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        """The counts, each by the first bound that a value does not exceed. The last count is for all larger values."""
        self.sum = 0.0

    def add(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value


class BatchMeasure:
    """Measures the batches of one kind."""

    __slots__ = ("seconds", "sizes")

    def __init__(self) -> None:
        self.sizes = Histogram(SIZE_BOUNDS)
        self.seconds = Histogram(SECOND_BOUNDS)

    def add(self, size: int, seconds: float) -> None:
        self.sizes.add(size)
        self.seconds.add(seconds)


class Measures:
    """Holds the measures of one server."""

    def __init__(self) -> None:
        self.batches: dict[Batch, BatchMeasure] = {
            "submissions": BatchMeasure(),
            "claims": BatchMeasure(),
            "reports": BatchMeasure(),
        }
