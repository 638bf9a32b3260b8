"""The items of a fan-out, and the compensation of a step, folded from their events. Counts are kept up, never taken anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tenax.model.events import ATTEMPT_ENDS
from tenax.model.execution_views import Event, FailedCompensation, StepCompensation
from tenax.model.state.attempt import WorkState, apply_to_work, end_in_failure

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
"""Failed compensations of a fan-out that are named one by one."""
COMPENSATION_STATES = ("pending", "queued", "running", "retrying", "held", "completed", "failed", "cancelled")
_BY_PROGRESS = ("running", "queued", "retrying", "held", "failed", "cancelled", "completed")
"""Many compensations stand as the least far of them; at the end, as the worst."""


@dataclass(slots=True)
class ItemState(WorkState):
    """One work item of a fan-out."""

    item: int
    tolerated: bool = False
    """It failed, and the step goes on all the same."""


def fan_out_status(counts: Mapping[str, int], *, unbegun: int = 0) -> str | None:
    """How a step stands whose items stand so. None where all have ended, and the step's own end is about to come."""
    if counts.get("running") or counts.get("accepted"):
        return "running"
    if unbegun or counts.get("waiting") or counts.get("queued"):
        return "queued"
    if counts.get("retrying"):
        return "retrying"
    return "held" if counts.get("held") else None


class FanOut:
    """The items that have begun, by their place in the list; of the others there is nothing but their number."""

    __slots__ = ("_closed", "_counts", "items", "parallelism", "tolerated", "total")

    def __init__(self, total: int, parallelism: int) -> None:
        self.total = total
        self.parallelism = parallelism
        self.tolerated = 0
        """How many items failed, and the step went on all the same."""
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
        """No item begins any more, and none again; those that run may finish."""
        self._closed = True
        for item in self.items.values():
            if item.status in ("queued", "retrying", "held"):
                self._counts[item.status] -= 1
                self._counts["cancelled"] += 1
                item.status, item.available_at = "cancelled", None

    def status(self) -> str | None:
        """Of the step, while it runs; see `fan_out_status`. One that was closed does not wait for the others."""
        standing = fan_out_status(self._counts, unbegun=0 if self._closed else self._unbegun)
        return "cancelled" if standing is None and self._closed else standing

    def counts(self) -> dict[str, int]:
        """How many items are in which state. What has not begun is queued as far as `parallelism` has room, else waiting."""
        counts = {state: self._counts[state] for state in ITEM_STATES}
        if self._closed:
            counts["cancelled"] += self._unbegun
        else:
            room = max(self.parallelism - counts["running"] - counts["accepted"] - counts["queued"], 0)
            counts["queued"] += min(room, self._unbegun)
            counts["waiting"] += max(self._unbegun - room, 0)
        return {"total": self.total, **counts}

    def results(self) -> list[Any] | None:
        """In the order of the list; null where an item failed. None where the events of items were left out."""
        if self.total and not self.items:
            return None
        found: list[Any] = [None] * self.total
        for number, item in self.items.items():
            if item.status == "succeeded":
                found[number] = item.result
        return found

    def next_at(self) -> str | None:
        """When the first of the items that wait may start again."""
        return min((item.available_at for item in self.items.values() if item.available_at), default=None)

    def waiting(self) -> dict[str, Any] | None:
        """What the first of the items that do not work wait for, and which it is."""
        first = min((number for number, item in self.items.items() if item.waiting), default=None)
        return None if first is None else {**(self.items[first].waiting or {}), "item": first}

    @property
    def _unbegun(self) -> int:
        return self.total - len(self.items)


def _apply_to_item(item: ItemState, event: Event) -> None:
    match event.type:
        case "item_completed":
            item.status, item.available_at = "succeeded", None
        case "item_failed":
            end_in_failure(item, event)
            item.tolerated = bool(event.data.get("tolerated"))
        case kind:
            apply_to_work(item, kind, event)
            if item.status == "running" and item.waiting:  # for something outside: nobody works on it
                item.status = "accepted"


_IN_A_STEP = {
    "compensation_enqueued": "step_enqueued",
    "compensation_started": "action_started",
    "compensation_cancelled": "item_cancelled",
}
"""What the events of a compensation would be in a step."""


@dataclass(slots=True)
class CompensationState(WorkState):
    """What undoes a step: one run of it, or one for each item of a fan-out."""

    items: dict[int, WorkState] = field(default_factory=dict)
    """Those that have begun."""
    _counts: Counter[str] = field(default_factory=Counter)

    def apply(self, event: Event) -> None:
        number = event.item
        if number is not None:
            self._apply_to_item(number, event)
        elif "count" in event.data:  # items that never had their turn, all in one event
            self._counts["cancelled"] += event.data["count"]
        else:
            _apply_to_compensation(self, event)
            return
        self.status = next((state for state in _BY_PROGRESS if self._counts[state]), "pending")

    def counts(self) -> dict[str, int]:
        """How many items are in which state."""
        return {
            "total": self._counts.total(),
            **{state: self._counts[state] for state in COMPENSATION_STATES},
        }

    def view(self) -> StepCompensation:
        items = self.counts() if self._counts.total() else None
        return StepCompensation(**self.shown(), items=items, failures=self._failures())

    def _failures(self) -> list[FailedCompensation]:
        """Of a fan-out: what could not be undone, with its item; the first ones."""
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
    """How an attempt at a compensation ended, as a step's event would say it."""
    how = str(event.data.get("how", "action_error"))
    return next((kind for kind in (how, f"action_{how}") if kind in ATTEMPT_ENDS), "action_error")
