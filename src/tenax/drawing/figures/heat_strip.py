"""Draws the items of a fan-out as a strip of cells, each in the colour of its worst item."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tenax.drawing.links import Link, Target, no_link
from tenax.drawing.markup import document, label, linked, rect

MAX_CELLS = 200
WORST_FIRST = (
    "failed", "held", "retrying", "running", "accepted", "queued", "waiting", "pending", "cancelled",
    "succeeded", "completed",
)  # fmt: skip
"""The states of items, in the order in which they give a cell its colour."""
_HEIGHT = 18.0


@dataclass(frozen=True, slots=True)
class HeatCell:
    """Counts the items of a range by their state. The last item belongs to it."""

    first: int
    last: int
    counts: Mapping[str, int]

    @property
    def worst(self) -> str:
        return next((state for state in WORST_FIRST if self.counts.get(state)), "waiting")


def heat_cells(
    total: int, states: Iterable[tuple[int, str]], *, rest: str = "waiting", most: int = MAX_CELLS
) -> tuple[HeatCell, ...]:
    """Puts items into at most `most` ranges of the same size. Items that are not in `states` are in the state `rest`."""
    size = max(1, -(-total // most))
    counted: dict[int, Counter[str]] = {}
    for item, state in states:
        if 0 <= item < total:
            counted.setdefault(item // size, Counter())[state] += 1
    cells = []
    for place, first in enumerate(range(0, total, size)):
        last = min(first + size, total) - 1
        counts = counted.get(place, Counter())
        if unknown := last - first + 1 - counts.total():
            counts[rest] += unknown
        cells.append(HeatCell(first, last, dict(counts)))
    return tuple(cells)


def draw_heat_strip(
    cells: Sequence[HeatCell],
    *,
    step: str = "",
    link: Link = no_link,
    width: float = 720,
    standalone: bool = False,
) -> str:
    """Draws the strip with its counts below."""
    totals: Counter[str] = Counter()
    for cell in cells:
        totals.update(cell.counts)
    words = f"{totals.total():,} items: {state_words(totals)}"
    parts = [
        *cell_parts(cells, Target(step=step or None), link, 0, 6, width),
        label(0, _HEIGHT + 22, words, class_="tx-note"),
    ]
    return document(
        parts, width=width, height=_HEIGHT + 28, words=words, class_="tx-heat", standalone=standalone
    )


def cell_parts(
    cells: Sequence[HeatCell], target: Target, link: Link, left: float, top: float, width: float
) -> Iterator[str]:
    """Draws cells side by side. A cell with failures has a tick above it, so that they are found without colours."""
    each = width / max(len(cells), 1)
    for place, cell in enumerate(cells):
        x = left + place * each
        href = link(Target(step=target.step, item=cell.first, last_item=cell.last))
        drawn = rect(x, top, each, _HEIGHT, class_="tx-fill")
        if cell.counts.get("failed"):
            drawn += rect(x, top - 4, max(each, 2), 3, class_="tx-failed-tick")
        yield linked(drawn, cell_words(cell), href, class_=f"tx-cell tx-is-{state_class(cell.worst)}")


def count_parts(
    counts: Mapping[str, int], target: Target, link: Link, left: float, top: float, width: float
) -> Iterator[str]:
    """Draws one part for each state, in proportion to its items, and at least wide enough to be clicked."""
    present = [(state, counts[state]) for state in reversed(WORST_FIRST) if counts.get(state)]
    total = sum(count for _, count in present)
    least = min(6.0, width / max(len(present), 1))
    spare = width - least * len(present)
    for state, count in present:
        each = least + spare * count / total
        href = link(Target(step=target.step, state=state, compensation=target.compensation))
        drawn = rect(left, top, each, _HEIGHT, class_="tx-fill")
        yield linked(drawn, f"{count:,} {state}", href, class_=f"tx-part tx-is-{state_class(state)}")
        left += each


def state_class(state: str) -> str:
    """Returns the state in the name of a class. The items of compensations have `completed` and `pending`."""
    return {"completed": "succeeded", "pending": "waiting"}.get(
        state, state if state in WORST_FIRST else "waiting"
    )


def cell_words(cell: HeatCell) -> str:
    items = f"item {cell.first:,}" if cell.first == cell.last else f"items {cell.first:,} to {cell.last:,}"
    return f"{items}: {state_words(cell.counts)}"


def state_words(counts: Mapping[str, int]) -> str:
    known = [f"{counts[state]:,} {state}" for state in WORST_FIRST if counts.get(state)]
    return ", ".join(known) or "none"
