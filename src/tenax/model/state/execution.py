"""Folds the events of an execution into its state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tenax.model.execution_views import Event
from tenax.model.state.attempt import WorkState, apply_to_work, end_by_operator, end_in_failure
from tenax.model.state.fan_out import CompensationState, FanOut, ItemState

__all__ = [
    "CompensationState",
    "ExecutionState",
    "FanOut",
    "ItemState",
    "StepState",
    "WorkState",
    "apply",
    "fold",
]


@dataclass(slots=True)
class StepState(WorkState):
    step: str
    carried_from: int | None = None
    """The execution from which the result was kept, if this execution is a retry of it."""
    on_failure: str | None = None
    """What replaced its failure: `continue`, `value` or `step`."""
    fan_out: FanOut | None = None
    compensation: CompensationState | None = None

    @property
    def items(self) -> dict[int, ItemState]:
        """The items of a fan-out that have begun."""
        return self.fan_out.items if self.fan_out is not None else {}

    def shown(self) -> dict[str, Any]:
        """Returns the fields of `execution_views.Step` that follow from events."""
        found = {
            **WorkState.shown(self),
            "carried_from": self.carried_from,
            "on_failure": self.on_failure,
            "items": None,
            "compensation": self.compensation.view() if self.compensation else None,
        }
        if self.fan_out is not None:
            found["items"] = self.fan_out.counts()
            found["waiting"] = self.fan_out.waiting()
            found["available_at"] = self.fan_out.next_at() if self.status in ("retrying", "held") else None
        return found


@dataclass(slots=True)
class ExecutionState:
    status: str = "running"
    steps: dict[str, StepState] = field(default_factory=dict)
    failure: dict[str, Any] | None = None
    compensation: str | None = None
    """The state of the compensations: `running`, `completed`, `failed`, `cancelled`, or None if none has begun."""


_STEP_ENDS = {"step_completed": "completed", "step_skipped": "skipped", "step_unreachable": "unreachable"}
_EXECUTION_STATES = {
    "execution_completed": "completed",
    "execution_failed": "failed",
    "execution_cancelled": "cancelled",
    "execution_paused": "paused",
    "execution_resumed": "running",
}
_WAITING = ("pending", "queued", "retrying", "held")
_FAN_OUT_OPEN = ("queued", "running", "retrying", "held")


def fold(events: Iterable[Event], steps: Sequence[str] = ()) -> ExecutionState:
    """Folds events into a state. `steps` has the names in the order of the definition, to include steps that have not begun."""
    state = ExecutionState(steps={name: StepState(name) for name in steps})
    for event in events:
        apply(state, event)
    return state


def apply(state: ExecutionState, event: Event) -> None:
    name = event.step
    if name is None:
        _apply_to_execution(state, event)
        return
    step = state.steps.setdefault(name, StepState(name))
    if event.type.startswith("compensation_") or event.data.get("compensation"):
        step.compensation = step.compensation or CompensationState()
        step.compensation.apply(event)
    elif event.item is not None:
        _apply_to_item(step, event)
    else:
        _apply_to_step(step, event)


def _apply_to_execution(state: ExecutionState, event: Event) -> None:
    kind, data = event.type, event.data
    match kind:
        case "execution_compensating":
            state.compensation, state.failure = "running", data.get("failure", state.failure)
            _close_waiting(state)
        case "execution_compensated":
            state.compensation = "failed" if data.get("failed") else "completed"
        case "execution_reopened":
            _reopen(state, event)
        case kind if kind in _EXECUTION_STATES:
            state.status = _EXECUTION_STATES[kind]
            state.failure = data.get("failure", state.failure)
            if state.status in ("failed", "cancelled"):
                _close_waiting(state)
            if state.status == "cancelled" and state.compensation == "running":
                state.compensation = "cancelled"


def _reopen(state: ExecutionState, event: Event) -> None:
    """Starts ended steps again. The events of their items follow."""
    data = event.data
    if state.status == "failed":
        state.status = "running"
    state.failure = data.get("failure")
    for name in {*data["steps"], *data["pending"]}:
        step = state.steps.setdefault(name, StepState(name))
        step.failure, step.on_failure = None, None
        if name in data["pending"] or step.fan_out is None:
            step.status, step.fan_out = "pending", None
        else:
            step.fan_out.reopen()
            step.status, step.result = "queued", None
            _stand_as_items(step)
    for step in state.steps.values():
        if step.status == "cancelled":  # it had not begun
            step.status = "pending"


def _close_waiting(state: ExecutionState) -> None:
    """Cancels the steps that have not begun, when the end of the execution is decided."""
    for step in state.steps.values():
        if step.status in _WAITING:
            step.status = "cancelled"
            step.available_at = None
        if step.fan_out is not None:
            step.fan_out.close()
            _stand_as_items(step)


def _apply_to_step(step: StepState, event: Event) -> None:
    kind, data = event.type, event.data
    match kind:
        case "step_enqueued":
            apply_to_work(step, kind, event)
            if "items" in data:
                step.fan_out = FanOut(data["items"], data.get("parallelism", 1))
        case "step_failed_terminal":
            end_in_failure(step, event)
            step.on_failure = data.get("on_failure")
            if step.fan_out is not None:
                step.fan_out.close()
        case "item_cancelled" if step.fan_out is not None:  # one event for all items that never began
            step.fan_out.close()
            _stand_as_items(step)
        case kind if kind in _STEP_ENDS:
            _end_step(step, event)
        case _:
            apply_to_work(step, kind, event)


def _end_step(step: StepState, event: Event) -> None:
    data = event.data
    step.status, step.available_at = _STEP_ENDS[event.type], None
    if "operator" in data:
        end_by_operator(step, event)
    elif "result" in data:
        step.result = data["result"]
    elif step.fan_out is not None:
        step.result = step.fan_out.results()
    step.carried_from = data.get("carried_from")
    if "on_failure" in data:
        step.on_failure = data["on_failure"]  # a value replaces the failure, which stays recorded
    else:
        step.failure = {"cause": data["cause"]} if "cause" in data else None


def _apply_to_item(step: StepState, event: Event) -> None:
    """Applies an event of an item. The status of the step follows its items until an event of the step itself ends it."""
    if step.fan_out is None:
        step.fan_out = FanOut(0, 1)
    step.fan_out.apply(event)
    _stand_as_items(step)


def _stand_as_items(step: StepState) -> None:
    if step.fan_out is not None and step.status in _FAN_OUT_OPEN:
        step.status = step.fan_out.status() or step.status
