"""Places the bars of a row on the axis. Attempts keep a least width, so that a short one can be seen and clicked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tenax.drawing.timeline.bars import Bar
from tenax.drawing.timeline.time_axis import TimeAxis

MIN_WIDTH = 12.0  # pixels of an attempt, with room for its sign
MIN_TOGETHER = 90.0  # pixels of a bar that stands for several attempts
_GAP = 1.0  # pixels between two attempts
_MIN_WAIT = 1.5  # pixels; a shorter wait is not drawn


@dataclass(frozen=True, slots=True)
class PlacedBar:
    bar: Bar
    left: float
    right: float


def place_bars(bars: Sequence[Bar], axis: TimeAxis) -> Iterator[PlacedBar]:
    """Yields the bars from left to right without overlaps. Attempts that are too close push each other, and waits give way."""
    attempts = [place for place, bar in enumerate(bars) if bar.kind in ("attempt", "external")]
    spans = dict(zip(attempts, _spread([bars[place] for place in attempts], axis), strict=True))
    free = axis.left
    for place, bar in enumerate(bars):
        if place in spans:
            left, right = spans[place]
        else:
            following = next((spans[after][0] for after in attempts if after > place), axis.right)
            left, right = max(free, axis.x(bar.start)), min(following, axis.x(bar.end))
            if right - left < _MIN_WAIT:
                continue
        yield PlacedBar(bar, left, right)
        free = right


def _spread(bars: Sequence[Bar], axis: TimeAxis) -> list[tuple[float, float]]:
    wanted = [MIN_TOGETHER if bar.attempts > 1 else MIN_WIDTH for bar in bars]
    scale = min(1.0, (axis.right - axis.left) / (sum(wanted) + _GAP * len(bars))) if bars else 1.0
    least = [width * scale for width in wanted]
    gap = _GAP * scale
    spans: list[tuple[float, float]] = []
    free = axis.left
    for bar, width in zip(bars, least, strict=True):
        left = max(free, axis.x(bar.start))
        right = max(left + width, axis.x(bar.end))
        spans.append((left, right))
        free = right + gap
    # Attempts that were pushed beyond the end move back, and push those before them.
    end = axis.right
    for place in reversed(range(len(spans))):
        left, right = spans[place]
        if right <= end:
            break
        spans[place] = left, right = min(left, end - least[place]), end
        end = left - gap
    return spans
