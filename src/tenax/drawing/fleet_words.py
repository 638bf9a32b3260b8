"""Describes workers: their health with its reason, and their events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenax.model.durations import format_duration
from tenax.model.fleet.health import SERVER_ACTOR

Worker = Mapping[str, Any]
Data = Mapping[str, Any]

COLUMN_NAMES = {
    "heartbeat_age": "heartbeat age",
    "consecutive_failures": "failures in a row",
    "queue_depth": "items in hand",
    "failure_rate": "failure rate",
    "reported_status": "its own report",
    "recovering": "recovering",
}
_ACTIONS = {
    "worker_pause": "paused it",
    "worker_drain": "drained it",
    "worker_resume": "resumed it",
    "worker_release": "released its name",
}


def health_words(worker: Worker) -> str:
    """Returns the health with its reason, such as `unhealthy: 10 failures in a row`."""
    column, health = worker["health_column"], str(worker["health"])
    if health == "healthy" or column is None:
        return health
    return f"{health}: {_deciding(column, worker)}"


def _deciding(column: str, worker: Worker) -> str:
    if column == "failure_rate":
        return f"{worker['failures']:,} of {worker['runs']:,} runs failed"
    if column == "reported_status":
        return f"{column_words(column, None)} ({_own_reason(worker)})"
    value = {"heartbeat_age": worker["heartbeat_age"], "queue_depth": worker["queue_depth"]}.get(
        column, worker["consecutive_failures"]
    )
    return column_words(column, value)


def _own_reason(worker: Worker) -> str:
    """Returns why a worker reports itself as unhealthy, from the numbers in its report."""
    said = worker["reported"] or {}
    if said.get("overdue", 0) >= worker["slots"]:
        return f"{counted(said['overdue'], 'thread')} that timed out hold all its slots"
    if said.get("queue_depth", 0) > worker["slots"]:
        return f"{counted(said['queue_depth'], 'item')} in hand"
    return "its event loop is late: overload_lag"


def counted(number: int, what: str) -> str:
    """Returns a number with its noun: `1 item`, `2 items`."""
    return f"{number:,} {what}{'s' if number != 1 else ''}"


def state_words(worker: Worker) -> str:
    """Returns the state of a worker. A drain by the server is named, since it lasts over restarts of the worker."""
    if worker["state"] == "draining" and worker["state_actor"] == SERVER_ACTOR:
        return "drained by the server"
    return str(worker["state"])


def column_words(column: str | None, value: Any) -> str:
    """Describes a column of the health with its value."""
    match column:
        case "heartbeat_age":
            return f"silent for {short_duration(value)}"
        case "consecutive_failures":
            return f"{counted(value, 'failure')} in a row"
        case "queue_depth":
            return f"{counted(value, 'item')} in hand"
        case "failure_rate":
            return f"{percentage(value)} of its runs failed"
        case "reported_status":
            return "by its own report"
        case "recovering":
            return "recovering"
        case _:
            return str(column)


def percentage(value: float | None) -> str:
    """Returns a percentage such as `30%`, or `-` if it is not known."""
    return "-" if value is None else f"{100 * value:.0f}%"


def short_duration(seconds: float) -> str:
    """Formats a duration to the second."""
    return format_duration(max(round(seconds), 0))


def fleet_event_words(kind: str, data: Data) -> str | None:
    """Describes an event of a worker. Returns None for other events."""
    match kind:
        case "worker_registered":
            version = f", version {data['version']}" if data.get("version") else ""
            instead = ", and replaced an earlier process that had not ended" if data.get("took_over") else ""
            slots = counted(data.get("slots", 1), "slot")
            return f"registered with {slots} for {', '.join(data.get('queues', ()))}{version}{instead}"
        case "worker_lost":
            silent = (
                f"; it was last heard of at {data['last_heartbeat']}" if data.get("last_heartbeat") else ""
            )
            return f"lost{silent}"
        case "worker_health_changed":
            return _changed(data)
        case "worker_drained":
            return f"drained by the server{_why(data)}"
        case "submission_rejected":
            return f"submission {data.get('id')} was rejected: {data.get('message')}"
        case "operator_action" if is_of_worker(data):
            return f"{data.get('actor')} {_ACTIONS[data['action']]}{_why(data)}"
        case _:
            return None


def is_of_worker(data: Data) -> bool:
    """Returns whether an operator's action concerned a worker."""
    return data.get("action") in _ACTIONS


def _changed(data: Data) -> str:
    column = data.get("column")
    because = f": {column_words(column, data.get('value'))}" if column and data.get("to") != "healthy" else ""
    floored = "; not worse, since too few other workers are able" if data.get("floored") else ""
    probe = f"; its probe comes at {data['probe_at']}" if data.get("probe_at") else ""
    return f"{data.get('from')} -> {data.get('to')}{because}{floored}{probe}"


def _why(data: Data) -> str:
    return f": {data['reason']}" if data.get("reason") else ""
