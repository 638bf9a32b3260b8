"""Computes percentiles, medians and spread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise


def percentile(values: Sequence[float], percent: float) -> float:
    """Returns the percentile by the nearest rank, which is always a measured value."""
    if not values:
        raise ValueError("no values")
    if not 0 <= percent <= 100:
        raise ValueError(f"{percent} is no percentage")
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def median(values: Sequence[float]) -> float:
    """Returns the median. For an even number of values, it is halfway between the two middle ones."""
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def ratios(values: Sequence[float], references: Sequence[float]) -> tuple[float, ...]:
    """Returns the ratios round by round. Slow phases of the machine affect neighbouring rounds alike, and cancel out."""
    return tuple(value / reference for value, reference in zip(values, references, strict=True))


def longest_gap(moments: Sequence[float], begun: float, over: float) -> float:
    """Returns the longest time without any of the moments, between the beginning and the end."""
    inside = [begun, *sorted(moment for moment in moments if begun < moment < over), over]
    return max(later - earlier for earlier, later in pairwise(inside))


@dataclass(frozen=True, slots=True)
class Tail:
    """Holds the distribution of a wait, in milliseconds."""

    p50: float
    p99: float
    worst: float
    count: int

    @classmethod
    def of_seconds(cls, seconds: Sequence[float]) -> Tail:
        p50, p99, worst = (percentile(seconds, percent) * 1000 for percent in (50, 99, 100))
        return cls(p50, p99, worst, len(seconds))
