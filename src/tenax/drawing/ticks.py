"""Chooses round ticks for an axis of time, and writes them."""

from __future__ import annotations

import math

_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400)
"""Seconds between two ticks. Beyond them come powers of ten, in seconds or in days."""


def round_step(least: float) -> float:
    """Returns a round number of seconds that is at least `least`."""
    if least > _STEPS[-1]:
        return _round_up(least / 86400) * 86400
    if least > 1:
        return float(next(step for step in _STEPS if step >= least))
    return _round_up(least)


def _round_up(value: float) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= value * 0.999999)


def offset_words(seconds: float, step: float) -> str:
    """Returns a time since the start, such as `1m 5.2s`, as exact as the step between two ticks."""
    if step < 1 and seconds < 1:
        return f"{_decimals(seconds * 1000, step * 1000)}ms" if seconds else "0"
    parts = []
    rest = seconds
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        count = int((rest + 1e-9) // size)
        rest = max(rest - count * size, 0.0)
        if count:
            parts.append(f"{count}{unit}")
    if rest >= 1e-9 or not parts:
        parts.append(f"{_decimals(rest, step)}s")
    return " ".join(parts[:3])


def _decimals(value: float, step: float) -> str:
    places = max(0, -math.floor(math.log10(step) + 1e-9))
    return f"{value:.{places}f}".rstrip("0").rstrip(".") if places else f"{value:.0f}"
