"""The events: their types, and how each is written."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, get_args

EventType = Literal[
    "execution_started",
    "execution_activated",
    "execution_completed",
    "execution_failed",
    "execution_cancelled",
    "execution_paused",
    "execution_resumed",
    "execution_reopened",
    "execution_compensating",
    "execution_compensated",
    "step_enqueued",
    "step_retry",
    "step_retry_exhausted",
    "step_failed_terminal",
    "step_completed",
    "step_skipped",
    "step_unreachable",
    "action_started",
    "action_completed",
    "action_error",
    "action_not_completed",
    "action_snoozed",
    "action_polled",
    "action_accepted",
    "lease_expired",
    "lease_released",
    "queue_expired",
    "retry_held",
    "retry_released",
    "retry_rescheduled",
    "item_completed",
    "item_failed",
    "item_cancelled",
    "item_held",
    "late_result",
    "signal_received",
    "compensation_enqueued",
    "compensation_started",
    "compensation_error",
    "compensation_retry",
    "compensation_completed",
    "compensation_failed",
    "compensation_cancelled",
    "budget_exceeded",
    "operator_action",
    "worker_registered",
    "worker_health_changed",
    "worker_drained",
    "worker_lost",
]
EVENT_TYPES: tuple[EventType, ...] = get_args(EventType)

ATTEMPT_ENDS: frozenset[str] = frozenset(
    {
        "action_completed",
        "action_error",
        "action_not_completed",
        "action_snoozed",
        "action_polled",
        "lease_expired",
        "queue_expired",
    }
)


def event(
    type: EventType,  # noqa: A002 -- the word of the contract
    step: str | None = None,
    item: int | None = None,
    attempt: int | None = None,
    token: str | None = None,
    data: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """One event as the log stores it. What does not apply is left out."""
    body: dict[str, Any] = {"type": type}
    if step is not None:
        body["step"] = step
    if item is not None:
        body["item"] = item
    if attempt is not None:
        body["attempt"] = attempt
    if token is not None:
        body["token"] = token
    if data:
        body["data"] = data
    return body


def timestamp(at: datetime | None) -> str | None:
    """RFC 3339, in UTC."""
    return None if at is None else at.isoformat().replace("+00:00", "Z")
