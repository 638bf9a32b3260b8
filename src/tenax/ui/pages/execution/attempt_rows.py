"""Turns attempts into the rows of a table."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tenax.model.execution_views import Attempt, Execution, Work
from tenax.policy.retry.explain import rule_meaning
from tenax.ui.pages.execution.links import decisions_address, item_address, step_address
from tenax.ui.words import seconds_between

PAGE_SIZE = 50  # attempts of a page
_EVIDENCE = ("stderr_tail", "traceback")
_TOLD = frozenset(("class", "reason", "message", "step", *_EVIDENCE))
"""The fields of a failure that a row shows by themselves."""


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """Is one attempt in a table."""

    attempt: Attempt
    step: str
    address: str
    part: str
    """What of the step it belongs to: empty, `[3]` for an item, or `compensation`."""
    queue_wait: float | None
    """Seconds between the time at which it could start and its start."""
    took: float | None
    decisions: str
    """The address of the decisions on it."""
    rule: str | None
    """Why its verdict was given."""
    evidence: Sequence[tuple[str, str]]
    """The long texts of the failure, with their names."""
    more: Mapping[str, Any]
    """The other facts of the failure."""


@dataclass(frozen=True, slots=True)
class AttemptPage:
    rows: Sequence[AttemptRow]
    total: int
    before: int | None
    older: int | None
    """The next page has the attempts before this place. None: there are no older ones."""


def rows_of(
    work: Work, execution_id: int, step: str, *, item: int | None = None, part: str = ""
) -> Iterator[AttemptRow]:
    """Yields the attempts of a step, an item or a compensation, in their order."""
    address = step_address(execution_id, step) if item is None else item_address(execution_id, step, item)
    ready = work.enqueued_at
    for attempt in work.attempts:
        decisions = decisions_address(execution_id, step, item, attempt.attempt)
        yield _row(attempt, step, address, part if item is None else f"[{item}]", ready, decisions)
        ready = attempt.available_at or attempt.ended_at


def page_of(rows: Sequence[AttemptRow], before: int | None) -> AttemptPage:
    """Returns a page, the newest first. A place is the number of attempts before it, so later attempts do not move it."""
    end = len(rows) if before is None else min(before, len(rows))
    start = max(0, end - PAGE_SIZE)
    return AttemptPage(rows[start:end][::-1], len(rows), before, start or None)


def all_rows(execution: Execution) -> list[AttemptRow]:
    """Returns the attempts of all steps in the order of their starts. Items of fan-outs have pages of their own."""
    works = []
    for name, step in execution.steps.items():
        if step.attempts:
            works.append(rows_of(step, execution.id, name))
        if step.compensation is not None and step.compensation.attempts:
            works.append(rows_of(step.compensation, execution.id, name, part="compensation"))
    return (
        list(heapq.merge(*works, key=_began))
        if len(works) < 100
        else sorted((row for of in works for row in of), key=_began)
    )


def _began(row: AttemptRow) -> str:
    return row.attempt.started_at or row.attempt.ended_at or ""


def _row(
    attempt: Attempt, step: str, address: str, part: str, ready: str | None, decisions: str
) -> AttemptRow:
    failure = attempt.failure or {}
    return AttemptRow(
        attempt=attempt,
        step=step,
        address=address,
        part=part,
        queue_wait=_seconds(ready, attempt.started_at),
        took=_seconds(attempt.started_at, attempt.ended_at),
        decisions=decisions,
        rule=_why(attempt.rule) if attempt.rule else None,
        evidence=[(name, str(failure[name])) for name in _EVIDENCE if failure.get(name)],
        more={
            name: value
            for name, value in failure.items()
            if name not in _TOLD and value not in (None, "", [], {})
        },
    )


def _why(rule: str) -> str:
    """Returns the meaning of a rule without its verdict at the end, which the row has."""
    meaning = rule_meaning(rule)
    return meaning.rpartition(": ")[0] or meaning


def _seconds(start: str | None, end: str | None) -> float | None:
    if start is None or end is None:
        return None
    return max(0.0, seconds_between(start, end))
