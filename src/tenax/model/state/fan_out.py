"""Folds events into the state of a fan-out and of a compensation. Counts are updated with each event and never recomputed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tenax.model.events import ATTEMPT_ENDS
from tenax.model.execution_views import Event, FailedCompensation, StepCompensation
from tenax.model.state.attempt import WorkState, apply_to_work, end_by_operator, end_in_failure

ITEM_STATES = (
    "waiting",
    "queued",
    "running",
    "accepted",
    "retrying",
    "held",
    "succeeded",
    "failed",
    "cancelled",
)


MAX_FAILURES_NAMED = 20
"""Failed compensations of a fan-out that a view lists."""
COMPENSATION_STATES = ("pending", "queued", "running", "retrying", "held", "completed", "failed", "cancelled")
_BY_PROGRESS = ("running", "queued", "retrying", "held", "failed", "cancelled", "completed")
"""States in the order in which they decide the state of a compensation with items: the first one that occurs."""


@dataclass(slots=True)
class ItemState(WorkState):
    """Holds the state of one item of a fan-out."""

    item: int
    tolerated: bool = False
    """True if the item failed and the step goes on all the same."""


def fan_out_status(counts: Mapping[str, int], *, unbegun: int = 0) -> str | None:
    """Returns the status of a step from the counts of its items. Returns None if all items have ended."""
    if counts.get("running") or counts.get("accepted"):
        return "running"
    if unbegun or counts.get("waiting") or counts.get("queued"):
        return "queued"
    if counts.get("retrying"):
        return "retrying"
    return "held" if counts.get("held") else None


class FanOut:
    """Holds the items that have begun, by their number. The other items are only counted."""

    __slots__ = ("_closed", "_counts", "items", "parallelism", "tolerated", "total")

    def __init__(self, total: int, parallelism: int) -> None:
        self.total = total
        self.parallelism = parallelism
        self.tolerated = 0
        """The number of items that failed while the step went on."""
        self.items: dict[int, ItemState] = {}
        self._counts: Counter[str] = Counter()
        self._closed = False

    def apply(self, event: Event) -> None:
        number = event.item
        assert number is not None
        item = self.items.get(number)
        if item is None:
            item = self.items[number] = ItemState(number, status="queued")
            self.total = max(self.total, number + 1)
            self._counts["queued"] += 1
        before, was_tolerated = item.status, item.tolerated
        _apply_to_item(item, event)
        self.tolerated += item.tolerated - was_tolerated
        self._counts[before] -= 1
        self._counts[item.status] += 1

    def close(self) -> None:
        """Cancels all items that have not begun or wait for a retry. Running items may finish."""
        self._closed = True
        for item in self.items.values():
            if item.status in ("queued", "retrying", "held"):
                self._counts[item.status] -= 1
                self._counts["cancelled"] += 1
                item.status, item.available_at = "cancelled", None

    def reopen(self) -> None:
        """Lets the items that never began wait again. The events of the others that start again follow."""
        self._closed = False

    def status(self) -> str | None:
        """Returns the status of the step (see `fan_out_status`). After `close`, items that have not begun do not count."""
        standing = fan_out_status(self._counts, unbegun=0 if self._closed else self._unbegun)
        return "cancelled" if standing is None and self._closed else standing

    def counts(self) -> dict[str, int]:
        """Returns the number of items in each state. Items that have not begun are queued up to `parallelism`, and else waiting."""
        counts = {state: self._counts[state] for state in ITEM_STATES}
        if self._closed:
            counts["cancelled"] += self._unbegun
        else:
            room = max(self.parallelism - counts["running"] - counts["accepted"] - counts["queued"], 0)
            counts["queued"] += min(room, self._unbegun)
            counts["waiting"] += max(self._unbegun - room, 0)
        return {"total": self.total, **counts}

    def results(self) -> list[Any] | None:
        """Returns the results in the order of the list, with None for failed items. Returns None without events of items."""
        if self.total and not self.items:
            return None
        found: list[Any] = [None] * self.total
        for number, item in self.items.items():
            if item.status == "succeeded":
                found[number] = item.result
        return found

    def next_at(self) -> str | None:
        """Returns the earliest time at which a waiting item may start again."""
        return min((item.available_at for item in self.items.values() if item.available_at), default=None)

    def waiting(self) -> dict[str, Any] | None:
        """Returns what the first waiting item waits for, with its number as `item`."""
        first = min((number for number, item in self.items.items() if item.waiting), default=None)
        return None if first is None else {**(self.items[first].waiting or {}), "item": first}

    @property
    def _unbegun(self) -> int:
        return self.total - len(self.items)


def _apply_to_item(item: ItemState, event: Event) -> None:
    match event.type:
        case "item_completed":
            item.status, item.available_at = "succeeded", None
            if "operator" in event.data:
                end_by_operator(item, event)
        case "item_failed":
            end_in_failure(item, event)
            item.tolerated = bool(event.data.get("tolerated"))
        case kind:
            apply_to_work(item, kind, event)
            item.tolerated = item.tolerated and item.status == "failed"
            if (
                item.status == "running" and item.waiting
            ):  # it waits for something outside, and no worker runs it
                item.status = "accepted"


_IN_A_STEP = {
    "compensation_enqueued": "step_enqueued",
    "compensation_started": "action_started",
    "compensation_cancelled": "item_cancelled",
}
"""The types of a step's events that correspond to those of a compensation."""


@dataclass(slots=True)
class CompensationState(WorkState):
    """Holds the state of a step's compensation: of one run, or of one run for each item of a fan-out."""

    items: dict[int, WorkState] = field(default_factory=dict)
    """The items that have begun."""
    _counts: Counter[str] = field(default_factory=Counter)

    def apply(self, event: Event) -> None:
        number = event.item
        if number is not None:
            self._apply_to_item(number, event)
        elif "count" in event.data:  # one event for all items that never began
            self._counts["cancelled"] += event.data["count"]
        else:
            _apply_to_compensation(self, event)
            return
        self.status = next((state for state in _BY_PROGRESS if self._counts[state]), "pending")

    def counts(self) -> dict[str, int]:
        """Returns the number of items in each state."""
        return {
            "total": self._counts.total(),
            **{state: self._counts[state] for state in COMPENSATION_STATES},
        }

    def view(self) -> StepCompensation:
        items = self.counts() if self._counts.total() else None
        return StepCompensation(**self.shown(), items=items, failures=self._failures())

    def _failures(self) -> list[FailedCompensation]:
        """Returns the first items of a fan-out that could not be undone, with their failures."""
        failed = sorted((number, item) for number, item in self.items.items() if item.status == "failed")
        return [
            FailedCompensation(item=number, attempts=item.attempt, failure=item.failure)
            for number, item in failed[:MAX_FAILURES_NAMED]
        ]

    def _apply_to_item(self, number: int, event: Event) -> None:
        if number not in self.items:
            self.items[number] = WorkState()
            self._counts["pending"] += 1
        item = self.items[number]
        self._counts[item.status] -= 1
        _apply_to_compensation(item, event)
        self._counts[item.status] += 1


def _apply_to_compensation(work: WorkState, event: Event) -> None:
    match kind := event.type:
        case "compensation_error":
            apply_to_work(work, _how(event), event)
        case "compensation_retry":
            apply_to_work(work, "retry_held" if event.data.get("held") else "step_retry", event)
        case "compensation_failed":
            end_in_failure(work, event)
        case "compensation_completed":
            apply_to_work(work, "action_completed", event)
            work.status = "completed"
        case _:
            apply_to_work(work, _IN_A_STEP.get(kind, kind), event)


def _how(event: Event) -> str:
    """Returns the type of a step's event that corresponds to the end of a compensation's attempt."""
    how = str(event.data.get("how", "action_error"))
    return next((kind for kind in (how, f"action_{how}") if kind in ATTEMPT_ENDS), "action_error")
