"""Describes the items of fan-outs from the events of an execution, for callers that have read all of them."""

from __future__ import annotations

from collections.abc import Iterable

from tenax.drawing.figures.heat_strip import heat_cells
from tenax.drawing.timeline.execution_rows import DrawnFanOut
from tenax.model.execution_views import Event, Work
from tenax.model.state.execution import StepState, fold

MAX_ITEMS_SHOWN = 20  # items of a fan-out that have rows of their own
_SHOWN_OF_MANY = ("failed", "held", "retrying", "running")
"""The states of items that have a row although their fan-out has more items than rows."""


def fan_outs_of(events: Iterable[Event]) -> dict[str, DrawnFanOut]:
    """Returns the fan-outs of an execution by step. A small one has a row for each item, a large one for items in trouble."""
    steps = fold(events).steps
    return {name: _fan_out(step) for name, step in steps.items() if step.fan_out is not None}


def _fan_out(step: StepState) -> DrawnFanOut:
    assert step.fan_out is not None
    total, items = step.fan_out.total, step.items
    counts = step.fan_out.counts()
    rest = "cancelled" if counts["cancelled"] and not counts["waiting"] + counts["queued"] else "waiting"
    cells = heat_cells(total, ((number, item.status) for number, item in items.items()), rest=rest)
    if total > MAX_ITEMS_SHOWN:
        wanted = [
            number for state in _SHOWN_OF_MANY for number, item in items.items() if item.status == state
        ]
    else:
        wanted = list(items)
    shown = sorted(wanted[:MAX_ITEMS_SHOWN])
    return DrawnFanOut(cells, {number: Work(**items[number].shown()) for number in shown})
