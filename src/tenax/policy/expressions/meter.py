"""Limits how much work expressions may do, and how much output they may give.

Work is counted and not timed. Visiting a value or processing a character costs the same on every machine, so a repeated decision has the
same result. Work is charged before it is done.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, NamedTuple

from tenax.model.decision import CONDITION_WORK
from tenax.model.json_text import encode

WORK_LIMIT = 2 * CONDITION_WORK
"""Units of work for one rendering: about 30 ms. All conditions of one decision have half of it. A character costs one
unit."""
OUTPUT_LIMIT = 16_000_000
"""Bytes of output that the templates of one rendering may give."""
VISIT = 16
"""Units of work for visiting a value, or for evaluating a node of an expression."""


class EvaluationError(ValueError):
    """Says why an accepted expression cannot be computed from these values."""


class WorkBudget(NamedTuple):
    """Holds the budget of one rendering. The server's settings define it."""

    work: int = WORK_LIMIT
    output: int = OUTPUT_LIMIT


class Meter:
    """Counts the work and the output that are left for one decision or one rendering."""

    __slots__ = ("output", "output_limit", "work", "work_limit")

    def __init__(self, work: int = WORK_LIMIT, output: int = OUTPUT_LIMIT) -> None:
        self.work = self.work_limit = work
        self.output = self.output_limit = output

    def spend(self, units: int) -> None:
        self.work -= units
        if self.work < 0:
            raise EvaluationError(
                f"the data is too large for it: more than {self.work_limit:,} units of work"
                " (`expression_work`; a character is 1 unit, a value 16)"
            )

    def give_out(self, value: Any) -> Any:
        """Charges for a value of a template. A list or a mapping is charged with its length as JSON."""
        if isinstance(value, str):
            self.output -= len(value)
        elif isinstance(value, Mapping | list):
            self.output -= len(encode(value))
        if self.output < 0:
            raise EvaluationError(
                f"its templates give more than {self.output_limit:,} bytes (`max_rendered`); "
                "pass a reference to large data instead"
            )
        return value


class _Current(threading.local):
    """Holds the meter of the evaluation that runs in this thread. Functions of expressions find it only here."""

    meter: Meter | None = None


CURRENT = _Current()


def spend(units: int) -> None:
    """Charges the running evaluation, if there is one."""
    meter = CURRENT.meter
    if meter is not None:
        meter.spend(units)


def charge_walk(value: Any) -> int:
    """Charges for visiting all of a value. Returns its approximate length in characters.

    The visit ends if the budget is used up, or if no text could be that long. So it never takes longer than it is charged for.
    """
    if isinstance(value, str):
        spend(len(value))
        return len(value) + 2
    meter = CURRENT.meter or Meter()
    most = meter.work
    units = length = 0
    todo = [value]
    while todo and units <= most:
        item = todo.pop()
        length += 2
        units += VISIT
        if isinstance(item, str):
            length += len(item)
            units += len(item)
        elif isinstance(item, Mapping | list | tuple):
            if units + VISIT * len(item) > most:
                meter.spend(most + 1)
            if isinstance(item, Mapping):
                keys = sum(len(key) + 4 for key in item if isinstance(key, str))
                length += keys
                units += keys
                todo.extend(item.values())
            else:
                todo.extend(item)
    meter.spend(units)
    return length
