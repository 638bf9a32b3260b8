"""Defines pages and sums of what is too long to be shown whole."""

from __future__ import annotations

from typing import Any

from tenax.model.execution_views import Event
from tenax.model.values import View
from tenax.model.views import ExecutionStatus, ExecutionSummary, Explanation


class StripRange(View):
    """Counts the items of a range of a fan-out's list by state."""

    first: int
    last: int
    worst: str
    """The state among them that matters most: failed, held, retrying, running, and so on."""
    counts: dict[str, int]


class ItemStrip(View):
    """Counts the items of a fan-out by state in ranges of their numbers."""

    total: int
    ranges: list[StripRange]


class EventPage(View):
    """Is a page of the events of an execution, in their order."""

    events: list[Event]
    older: int | None
    """The page before has the events before this one. Null: this is the first page."""
    newer: int | None
    """The next page has the events after this one. Null: these are the last events."""
    looked_until: str | None = None
    """If the page is not full but there may be more that are wanted: up to which time it has looked. `older`, or `newer` where it reads
    forwards, goes on there."""


class ExecutionPage(View):
    """Is a page of the executions that a filter selects, the newest first."""

    executions: list[ExecutionSummary]
    older: int | None
    """The next page has the executions before this one. Null: there are no older ones."""
    newer: int | None
    """The page before has the executions after this one. Null: this is the first page."""
    looked_until: str | None
    """If the page is not full but there may be more: up to which time it has looked. `older` or `newer` goes on there."""


class StateCounts(View):
    """Counts the executions that a filter selects by state."""

    counts: dict[str, int]
    """Empty: the filter looks at work items, and such executions are not counted."""
    at_least: list[ExecutionStatus]
    """The states of which there may be more: only the newest executions were looked at."""
    looked: int
    """How many executions of each kind (open, unsuccessful, all) were looked at, at most."""


class ExplainedDecision(View):
    """Is a decision with the event that records it."""

    event: int
    explanation: Explanation


class DecisionPage(View):
    """Is a page of the decisions on an execution, the newest first."""

    decisions: list[ExplainedDecision]
    policies: dict[str, dict[str, Any]]
    """The resolved retry policies of their steps, by the names of the steps. Those of compensations have the prefix `compensate:`."""
    older: int | None
    """The next page has the decisions before this event. Null: there are no older ones."""
    looked_until: str | None
    """If the page is not full but there may be more: up to which time it has looked. `older` goes on there."""
