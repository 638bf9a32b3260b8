"""Makes events by hand, each written as its type and its fields: `("action_started", {"attempt": 1})`."""

from __future__ import annotations

from typing import Any

from tenax.model.execution_views import Event

FAILURE = {"class": "transient", "reason": "http_503", "message": "503"}
TIMED_OUT = {"class": "timeout", "reason": "callback_deadline", "message": "no callback"}

Written = tuple[str, dict[str, Any]]


def told(*written: str | Written) -> list[Event]:
    """Returns events as the log has them. Events of the execution have no step. All others are of `s`, unless they name another step."""
    events = []
    for seq, one in enumerate(written, 1):
        kind, more = (one, {}) if isinstance(one, str) else one
        step = None if kind.startswith("execution_") else "s"
        event = {"type": kind, "at": f"2026-01-01T00:{seq // 60:02}:{seq % 60:02}Z", "step": step}
        events.append(an_event(seq, **event | more))
    return events


def an_event(seq: int, **fields: Any) -> Event:
    return Event(**{"id": seq, "seq": seq, "step": None, "item": None, "attempt": None, "data": {}} | fields)


def started(attempt: int, item: int | None = None, **data: Any) -> Written:
    body = {"worker": "w", "retry": {"attempt": attempt, "max_attempts": 3, "is_retry": attempt > 1}} | data
    return "action_started", {"attempt": attempt, "item": item, "data": body}


def failed(attempt: int, item: int | None = None, failure: dict[str, Any] = FAILURE) -> Written:
    return "action_error", {"attempt": attempt, "item": item, "data": {"failure": failure}}


def retried(attempt: int, item: int | None = None, counted: int = 1, **data: Any) -> Written:
    decision = {"verdict": "retry", "rule": "retry", "after": {"counted": counted}}
    body = {"delay_seconds": 2.0, "available_at": "2026-01-01T01:00:00Z", "decision": decision} | data
    return "step_retry", {"attempt": attempt, "item": item, "data": body}


def succeeded(attempt: int, item: int | None = None, result: Any = None) -> Written:
    return "action_completed", {"attempt": attempt, "item": item, "data": {"result": result}}


def item_over(item: int, kind: str = "item_completed", **data: Any) -> Written:
    return kind, {"item": item, "data": data}


def fan_out(items: int, parallelism: int = 2) -> Written:
    return "step_enqueued", {"data": {"items": items, "parallelism": parallelism}}


def compensated(kind: str, item: int | None = None, attempt: int | None = None, **data: Any) -> Written:
    return f"compensation_{kind}", {"item": item, "attempt": attempt, "data": data}
