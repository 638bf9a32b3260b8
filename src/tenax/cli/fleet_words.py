"""Workers in words: how healthy they are and why, and what happened to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenax.model.durations import format_duration

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
}


def health_words(worker: Worker) -> str:
    """`unhealthy: 10 failures in a row`."""
    column, health = worker["health_column"], str(worker["health"])
    if health == "healthy" or column is None:
        return health
    return f"{health}: {_deciding(column, worker)}"


def _deciding(column: str, worker: Worker) -> str:
    if column == "failure_rate":
        return f"{worker['failures']:,} of {worker['runs']:,} runs failed"
    value = {"heartbeat_age": worker["heartbeat_age"], "queue_depth": worker["queue_depth"]}.get(
        column, worker["consecutive_failures"]
    )
    return column_words(column, value)


def column_words(column: str | None, value: Any) -> str:
    """What a column says with this value, in a few words."""
    match column:
        case "heartbeat_age":
            return f"silent for {short_duration(value)}"
        case "consecutive_failures":
            return f"{value:,} failure{'s' if value != 1 else ''} in a row"
        case "queue_depth":
            return f"{value:,} items in hand"
        case "failure_rate":
            return f"{share(value)} of its runs failed"
        case "reported_status":
            return "by its own report"
        case "recovering":
            return "recovering"
        case _:
            return str(column)


def share(value: float | None) -> str:
    """`30%`; nothing is known where it is None."""
    return "-" if value is None else f"{100 * value:.0f}%"


def short_duration(seconds: float) -> str:
    """To the second: such times are looked at again and again."""
    return format_duration(max(round(seconds), 0))


def fleet_event_words(kind: str, data: Data) -> str | None:
    """What happened to a worker; None where the event is of something else."""
    match kind:
        case "worker_registered":
            version = f", version {data['version']}" if data.get("version") else ""
            return f"registered with {data.get('slots', 1)} slots for {', '.join(data.get('queues', ()))}{version}"
        case "worker_lost":
            silent = (
                f"; it was last heard of at {data['last_heartbeat']}" if data.get("last_heartbeat") else ""
            )
            return f"lost{silent}"
        case "worker_health_changed":
            return _changed(data)
        case "worker_drained":
            return f"drained by the server{_why(data)}"
        case "operator_action" if is_of_worker(data):
            return f"{data.get('actor')} {_ACTIONS[data['action']]}{_why(data)}"
        case _:
            return None


def is_of_worker(data: Data) -> bool:
    """Whether what an operator did was done to a worker."""
    return data.get("action") in _ACTIONS


def _changed(data: Data) -> str:
    column = data.get("column")
    because = f": {column_words(column, data.get('value'))}" if column and data.get("to") != "healthy" else ""
    floored = "; no worse, for too few others are able" if data.get("floored") else ""
    probe = f"; its probe comes at {data['probe_at']}" if data.get("probe_at") else ""
    return f"{data.get('from')} -> {data.get('to')}{because}{floored}{probe}"


def _why(data: Data) -> str:
    return f": {data['reason']}" if data.get("reason") else ""
