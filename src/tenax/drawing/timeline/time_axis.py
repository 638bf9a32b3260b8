"""Maps time to pixels. Long gaps in which nothing runs are folded, so that the pieces around them keep their room."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tenax.drawing.ticks import offset_words, round_step

Span = tuple[float, float]
"""A start and an end, in seconds."""

FOLDED_FROM = 30.0  # seconds: shorter gaps are never folded
MAX_FOLDS = 6
FOLD_WIDTH = 56.0  # pixels, enough for the length of the gap
_MIN_PIECE = 20.0  # pixels
_TICK_ROOM = 90.0  # pixels between two ticks


@dataclass(frozen=True, slots=True)
class AxisPiece:
    """Is a part of the axis that is even in itself."""

    start: float
    end: float
    left: float
    right: float
    folded: bool


@dataclass(frozen=True, slots=True)
class Tick:
    x: float
    words: str
    right: float
    """The end of its piece, beyond which its words would be misread."""


@dataclass(frozen=True, slots=True)
class TimeAxis:
    pieces: tuple[AxisPiece, ...]

    @property
    def left(self) -> float:
        return self.pieces[0].left

    @property
    def right(self) -> float:
        return self.pieces[-1].right

    def x(self, seconds: float) -> float:
        """Returns the pixel of a time. Times beyond the axis are at its ends."""
        place = bisect_right(self.pieces, seconds, key=lambda piece: piece.start) - 1
        piece = self.pieces[max(place, 0)]
        part = (seconds - piece.start) / (piece.end - piece.start)
        return piece.left + min(max(part, 0.0), 1.0) * (piece.right - piece.left)

    def ticks(self) -> Iterator[Tick]:
        free = self.left - 1
        for piece in self.pieces:
            if piece.folded:
                continue
            step = round_step(_TICK_ROOM * (piece.end - piece.start) / (piece.right - piece.left))
            for count in range(math.ceil(piece.start / step), math.floor(piece.end / step) + 1):
                x = self.x(count * step)
                if x >= free:
                    yield Tick(x, offset_words(count * step, step), piece.right)
                    free = x + _TICK_ROOM * 0.8


def make_axis(busy: Iterable[Span], end: float, *, left: float, right: float) -> TimeAxis:
    """Makes the axis from 0 to `end` seconds between two pixels. `busy` are the times at which something happens."""
    end = max(end, 0.001)
    folds = _folds(list(busy), end)
    edges = [0.0, *(edge for fold in folds for edge in fold), end]
    spans = [(start, stop, index % 2 == 1) for index, (start, stop) in enumerate(pairwise(edges))]
    spans = [span for span in spans if span[1] > span[0]]
    widths = _widths(spans, right - left)
    pieces = []
    for (start, stop, folded), width in zip(spans, widths, strict=True):
        pieces.append(AxisPiece(start, stop, left, left + width, folded))
        left += width
    return TimeAxis(tuple(pieces))


def _widths(spans: Sequence[tuple[float, float, bool]], room: float) -> list[float]:
    """Shares the room: folds have one width, and the other pieces what is in proportion to their time."""
    folds = sum(folded for _, _, folded in spans)
    fold = min(FOLD_WIDTH, room / 2 / folds) if folds else 0.0
    least = min(_MIN_PIECE, room / 2 / len(spans))
    spare = room - folds * fold - (len(spans) - folds) * least
    total = math.fsum(stop - start for start, stop, folded in spans if not folded)
    return [fold if folded else least + spare * (stop - start) / total for start, stop, folded in spans]


def _folds(busy: Sequence[Span], end: float) -> list[Span]:
    """Returns the gaps to fold, in order.

    A gap is folded if it is much longer than all that would be left between gaps of its size, and if that makes more
    visible than the gap itself: several spans beside each other, or the length of those around a single gap.
    """
    merged = _merged([*busy, (0.0, 0.0), (end, end)], end)
    gaps = sorted(
        ((before[1], after[0]) for before, after in pairwise(merged)), key=lambda gap: gap[0] - gap[1]
    )
    lengths = [stop - start for start, stop in gaps]
    starts = len({start for start, _ in busy})
    total = math.fsum(lengths) + math.fsum(stop - start for start, stop in merged)
    chosen = 0
    for count, length in enumerate(lengths[:MAX_FOLDS], 1):
        similar = [other for other in lengths if other >= length / 4]
        left = total - math.fsum(similar)
        shows_more = len(similar) == 1 or starts > len(similar) + 1
        if length >= FOLDED_FROM and length > 2 * left > 0 and shows_more:
            chosen = count
    rest = total - math.fsum(lengths[:chosen])
    return sorted(_shrunk(gap, rest) for gap in gaps[:chosen])


def _shrunk(gap: Span, rest: float) -> Span:
    """Returns the gap without a little at each end, which stays visible beside the fold."""
    margin = min(0.02 * (gap[1] - gap[0]), 0.05 * rest)
    return gap[0] + margin, gap[1] - margin


def _merged(spans: Iterable[Span], end: float) -> list[Span]:
    merged: list[Span] = []
    for start, stop in sorted((min(max(a, 0.0), end), min(max(b, 0.0), end)) for a, b in spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], stop))
        else:
            merged.append((start, stop))
    return merged
