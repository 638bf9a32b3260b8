"""The state of an execution, folded from its events. The log is the truth; this is how it is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tenax.model.events import ATTEMPT_ENDS

Event = Mapping[str, Any]


@dataclass(slots=True)
class AttemptState:
    """One attempt as the timeline shows it."""

    attempt: int
    started_at: str | None = None
    ended_at: str | None = None
    worker: str | None = None
    outcome: str = "running"
    failure: dict[str, Any] | None = None
    verdict: str | None = None
    rule: str | None = None
    """The rule that the verdict rests on."""
    delay_seconds: float | None = None
    available_at: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True)
class StepState:
    step: str
    status: str = "pending"
    attempt: int = 0
    counted: int = 0
    """How many of the ended attempts count against the limit."""
    max_attempts: int | None = None
    carried_from: int | None = None
    """The execution whose result was kept, where this is a retry of it."""
    result: Any = None
    failure: dict[str, Any] | None = None
    available_at: str | None = None
    """When the next attempt may start, while it is retrying."""
    enqueued_at: str | None = None
    ledger: dict[str, Any] | None = None
    attempts: list[AttemptState] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        body = {name: getattr(self, name) for name in self.__slots__ if name not in ("step", "ledger")}
        body["attempts"] = [attempt.as_dict() for attempt in self.attempts]
        return body


@dataclass(slots=True)
class ExecutionState:
    status: str = "running"
    steps: dict[str, StepState] = field(default_factory=dict)
    failure: dict[str, Any] | None = None


_OUTCOMES = {
    "action_completed": "succeeded",
    "action_error": "failed",
    "action_not_completed": "not_completed",
    "action_snoozed": "snoozed",
    "lease_expired": "lost",
    "queue_expired": "expired",
}
_STEP_ENDS = {"step_completed": "completed", "step_skipped": "skipped", "step_unreachable": "unreachable"}
_EXECUTION_STATES = {
    "execution_completed": "completed",
    "execution_failed": "failed",
    "execution_cancelled": "cancelled",
    "execution_paused": "paused",
    "execution_resumed": "running",
    "execution_reopened": "running",
}


def fold(events: Iterable[Event], steps: Sequence[str] = ()) -> ExecutionState:
    """`steps`: the names in the order of the definition, so that what has not begun is shown as well."""
    state = ExecutionState(steps={name: StepState(name) for name in steps})
    for event in events:
        apply(state, event)
    return state


def apply(state: ExecutionState, event: Event) -> None:
    name = event["step"]
    if name is not None:
        _apply_to_step(state.steps.setdefault(name, StepState(name)), event)
    elif event["type"] in _EXECUTION_STATES:
        state.status = _EXECUTION_STATES[event["type"]]
        state.failure = event["data"].get("failure", state.failure)
        if state.status in ("failed", "cancelled"):
            _close_waiting(state)


def _close_waiting(state: ExecutionState) -> None:
    for step in state.steps.values():
        if step.status in ("pending", "queued", "retrying", "held"):
            step.status = "cancelled"
            step.available_at = None


def _apply_to_step(step: StepState, event: Event) -> None:
    kind, data = event["type"], event["data"]
    match kind:
        case "step_enqueued":
            step.status, step.enqueued_at = "queued", event["at"]
        case "action_started":
            _start(step, event)
        case kind if kind in ATTEMPT_ENDS:
            _end_attempt(step, event)
        case "step_retry" | "retry_held":
            step.status = "retrying" if kind == "step_retry" else "held"
            step.available_at = data.get("available_at")
            step.ledger = data.get("decision", {}).get("after")
            _count(step, data)
            _verdict(step, event, data)
        case "retry_rescheduled":
            step.available_at = data.get("available_at")
        case "step_failed_terminal":
            step.status, step.failure, step.available_at = "failed", data.get("failure"), None
            _count(step, data)
            _verdict(step, event, data)
        case kind if kind in _STEP_ENDS:
            step.status, step.available_at = _STEP_ENDS[kind], None
            step.result = data.get("result", step.result)
            step.carried_from = data.get("carried_from")
            step.failure = {"cause": data["cause"]} if "cause" in data else None
        case "item_cancelled":
            step.status, step.available_at = "cancelled", None
            if step.attempts and step.attempts[-1].outcome == "running":
                step.attempts[-1].outcome, step.attempts[-1].ended_at = "cancelled", event["at"]
        case "lease_released":
            step.status = "queued"
            if step.attempts:
                step.attempts[-1].outcome, step.attempts[-1].ended_at = "released", event["at"]
        case _:
            pass


def _start(step: StepState, event: Event) -> None:
    step.status, step.attempt, step.available_at = "running", event["attempt"], None
    step.max_attempts = event["data"].get("retry", {}).get("max_attempts")
    step.attempts.append(AttemptState(event["attempt"], event["at"], worker=event["data"].get("worker")))


def _end_attempt(step: StepState, event: Event) -> None:
    data = event["data"]
    if not step.attempts or step.attempts[-1].attempt != event["attempt"]:
        step.attempt = event["attempt"]
        step.attempts.append(AttemptState(event["attempt"]))
    attempt = step.attempts[-1]
    attempt.ended_at, attempt.outcome = event["at"], _OUTCOMES[event["type"]]
    attempt.failure = data.get("failure")
    _count(step, data)
    if event["type"] == "action_completed":
        step.result = data.get("result")
        attempt.verdict = data.get("decision", {}).get("verdict", "complete")
        if "after" not in data.get("decision", {}):  # a plain success at the first attempt: no ledger is kept
            step.counted += 1


def _count(step: StepState, data: Mapping[str, Any]) -> None:
    step.counted = data.get("decision", {}).get("after", {}).get("counted", step.counted)


def _verdict(step: StepState, event: Event, data: Mapping[str, Any]) -> None:
    for attempt in reversed(step.attempts):
        if attempt.attempt == event["attempt"]:
            attempt.verdict = data.get("decision", {}).get("verdict")
            attempt.rule = data.get("decision", {}).get("rule")
            attempt.delay_seconds = data.get("delay_seconds")
            attempt.available_at = data.get("available_at")
            return
