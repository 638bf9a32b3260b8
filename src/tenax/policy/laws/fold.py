"""Folds the events of an execution, in the order of the log, into its state. Items of fan-outs are only counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tenax.policy.laws.attempts import ends_without_start
from tenax.policy.laws.facts import ENDS, LoggedEvent, fingerprint
from tenax.policy.laws.work import WorkFold
from tenax.policy.plan import Plan

STEP_ENDS = {
    "step_completed": "completed",
    "step_failed_terminal": "failed",
    "step_skipped": "skipped",
    "step_unreachable": "unreachable",
}
FINAL = {"execution_completed": "completed", "execution_failed": "failed", "execution_cancelled": "cancelled"}
_UNDONE = ("compensation_completed", "compensation_failed", "compensation_cancelled")
_NOTHING = fingerprint(None)


@dataclass(slots=True)
class StepFold:
    """The state of one step: its end, and what its row must contain."""

    status: str = "pending"
    """`pending`, `started`, or the state in which it ended."""
    attempts: int = 0
    result: bytes | None = _NOTHING
    has_whole_result: bool = False
    """An event has the whole result: it is not gathered from those of items."""
    failure: Mapping[str, Any] | None = None
    cause: str | None = None
    carried: bool = False
    has_row: bool = False
    """The step ended while the execution was open, or as an attempt that still ran: its row shows it."""
    in_graph: bool = False
    """The step ended while the execution was open, and the graph advanced from it."""
    unforgiven: bool = False
    """The value of its `on_failure` could not be computed."""


@dataclass(slots=True)
class FanOutFold:
    """The counts of the items of a step with `for_each`."""

    total: int
    parallelism: int
    running: int = 0
    ended: int = 0
    failed: int = 0
    attempts: int = 0
    cancelled: int = 0
    closed: bool = False
    retired: bool = False
    """The execution ended before the step."""
    unborn: bool = False
    """The step was cancelled in the transaction that would have inserted its items."""


@dataclass(slots=True)
class Fold:
    """The state of one execution after the events so far."""

    execution_id: int
    plan: Plan
    state: str = "new"
    closed: bool = False
    """The end of the execution is decided: no step starts any more."""
    compensation: str | None = None
    failure: Mapping[str, Any] | None = None
    first: LoggedEvent | None = None
    last: LoggedEvent | None = None
    parent: Mapping[str, Any] | None = None
    """The attempt of its parent that started it, or that took it over when it was reopened."""
    final: LoggedEvent | None = None
    """The event that ended it."""
    result: bytes | None = None
    """The result, if the execution has `outputs`."""
    steps: dict[str, StepFold] = field(default_factory=dict)
    fan_outs: dict[str, FanOutFold] = field(default_factory=dict)
    works: dict[tuple[str, bool], WorkFold] = field(default_factory=dict)
    """The work items of steps with one item, and those of their compensations (True)."""
    undoing: int = 0
    """Compensations that were queued and have not ended."""
    repaired: bool = False
    """Recovery has inserted work items of a fan-out again."""
    has_items: bool = False
    """There are events of single items of fan-outs."""

    def __post_init__(self) -> None:
        self.steps = {name: StepFold() for name in self.plan.steps}

    @property
    def over(self) -> bool:
        return self.final is not None

    @property
    def finished_at(self) -> datetime | None:
        return self.final.at if self.final is not None else None

    def is_fan_out(self, step: str) -> bool:
        return self.plan.steps[step].for_each is not None

    def is_met(self, step: str) -> bool:
        """Returns whether a step that needs this one may start."""
        found = self.steps[step]
        forgiven = self.plan.steps[step].forgiven and not found.unforgiven
        return found.status in ("completed", "skipped") or (found.status == "failed" and forgiven)

    def work(self, step: str, *, undoes: bool) -> WorkFold | None:
        """Returns the work item of a step with one item. Returns None if the plan has no such action."""
        key = (step, undoes)
        if key not in self.works:
            if undoes and self.plan.steps[step].compensation is None:
                return None
            action = self.plan.action(step, compensates=undoes)
            self.works[key] = WorkFold(self.execution_id, step, None, undoes, action)
        return self.works[key]


def fold_event(fold: Fold, event: LoggedEvent) -> None:
    """Takes in the next event of the execution. Work items are folded separately, see `work`."""
    fold.first = fold.first or event
    fold.last = event
    if event.step is None:
        _apply_to_execution(fold, event)
    elif event.step in fold.steps:
        if event.undoes:
            _apply_to_compensation(fold, event)
        elif event.item is not None:
            fold.has_items = True
            _apply_to_items(fold, event)
        else:
            _apply_to_step(fold, event)


def _apply_to_execution(fold: Fold, event: LoggedEvent) -> None:
    match event.type:
        case "execution_started":
            fold.state, fold.parent = "running", event.data.get("parent")
        case "execution_paused":
            fold.state = "paused"
        case "execution_resumed":
            fold.state = "running"
        case "execution_compensating":
            fold.compensation, fold.failure = "waiting", event.failure
            _close(fold)
        case "execution_compensated":
            fold.compensation = "failed" if event.data.get("failed") else "completed"
        case "execution_reopened":
            _reopen(fold, event)
        case "execution_activated":
            fold.repaired = fold.repaired or "restored" in event.data
        case kind if kind in FINAL:
            _finish(fold, event, FINAL[kind])


def _finish(fold: Fold, event: LoggedEvent, state: str) -> None:
    fold.state, fold.final = state, event
    match state:
        case "completed":
            fold.result = fingerprint(event.data["result"]) if "result" in event.data else None
        case "failed":
            fold.failure = event.failure
            _close(fold)
        case _:
            words = event.data.get("reason") or f"cancelled by {event.data.get('actor')}"
            fold.failure = {"class": "cancelled", "reason": "cancelled_on_request", "message": words}
            fold.compensation = "cancelled" if fold.compensation is not None else None
            _close(fold)
    fold.closed = True


def _reopen(fold: Fold, event: LoggedEvent) -> None:
    """Starts ended steps again. What ended after the execution's end now belongs to its graph."""
    data = event.data
    if fold.final is not None:
        fold.state, fold.final, fold.closed = "running", None, False
    fold.failure = data.get("failure")
    fold.parent = data.get("parent", fold.parent)
    for name in data["pending"]:
        fold.steps[name] = StepFold()
        fold.fan_outs.pop(name, None)
    for name in data["steps"]:
        fold.steps[name] = StepFold(status="started")
        if (found := fold.fan_outs.get(name)) is not None:
            found.closed = found.retired = found.unborn = False
            found.cancelled = 0
    for step in fold.steps.values():
        step.in_graph = step.has_row


def _close(fold: Fold) -> None:
    fold.closed = True
    for found in fold.fan_outs.values():
        found.retired = found.retired or not found.closed


def _apply_to_compensation(fold: Fold, event: LoggedEvent) -> None:
    fold.has_items = fold.has_items or event.item is not None
    if event.type == "compensation_enqueued":
        fold.undoing += 1
        fold.compensation = "running"
    elif event.type in _UNDONE and "count" not in event.data and event.data.get("was") != "waiting":
        fold.undoing = max(0, fold.undoing - 1)


def _apply_to_step(fold: Fold, event: LoggedEvent) -> None:
    step, name = fold.steps[event.step or ""], event.step or ""
    if event.type == "step_enqueued":
        step.status = "started"
        if "items" in event.data and name not in fold.fan_outs:
            fold.fan_outs[name] = FanOutFold(event.data["items"], event.data.get("parallelism", 1))
    elif event.type == "item_cancelled" and name in fold.fan_outs:
        found = fold.fan_outs[name]
        found.cancelled += event.data.get("count", 0)
        found.unborn = found.unborn or "count" not in event.data
    elif event.type in STEP_ENDS:
        _end_step(fold, step, name, event)


def _end_step(fold: Fold, step: StepFold, name: str, event: LoggedEvent) -> None:
    data = event.data
    step.unforgiven = step.status == "failed" and event.type == "step_failed_terminal"
    step.status = STEP_ENDS[event.type]
    step.has_row, step.in_graph = True, step.in_graph or not fold.closed
    step.carried = "carried_from" in data
    step.cause = data.get("cause")
    if event.failure is not None:
        step.failure = event.failure
    if name in fold.fan_outs:
        fold.fan_outs[name].closed = True
        step.attempts = fold.fan_outs[name].attempts
    elif not step.carried and (work := fold.works.get((name, False))) is not None:
        step.attempts = work.attempt
    if "result" in data:
        step.result, step.has_whole_result = fingerprint(data["result"]), True
    elif event.type == "step_completed" and (work := fold.works.get((name, False))) is not None:
        step.result = work.result
    if step.status == "completed" and not fold.closed:
        _lend(fold, name, step.result)


def _lend(fold: Fold, name: str, result: bytes | None) -> None:
    """Gives the result of a fallback to the step that it replaces as well."""
    failed = fold.plan.steps[name].fallback_of
    while failed is not None:
        fold.steps[failed].result, fold.steps[failed].has_whole_result = result, name not in fold.fan_outs
        failed = fold.plan.steps[failed].fallback_of


def _apply_to_items(fold: Fold, event: LoggedEvent) -> None:
    found = fold.fan_outs.get(event.step or "")
    if found is None:
        return
    kind = event.kind
    if event.data.get("was" if kind == "retry_rescheduled" else "") == "failed":
        found.ended, found.failed = found.ended - 1, found.failed - 1
        found.attempts -= event.attempt or 0
    elif kind == "action_started":
        found.running += 1
    elif kind == "lease_released" or (kind in ENDS and not ends_without_start(event)):
        found.running = max(0, found.running - 1)
    elif kind == "item_cancelled":
        found.cancelled += 1
        if event.data.get("was") in ("leased", "accepted"):
            found.running = max(0, found.running - 1)
    elif kind in ("item_completed", "item_failed"):
        if (event.data.get("operator") or {}).get("was") in ("leased", "accepted"):
            found.running = max(0, found.running - 1)
        found.ended += 1
        found.failed += kind == "item_failed"
        found.attempts += event.data.get("attempts", 0) if event.attempt is None else event.attempt
