"""One event as one line of plain text: what `run` prints where there is no terminal to draw on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenax.cli.output import one_line
from tenax.model.durations import format_duration

Event = Mapping[str, Any]


def event_words(event: Event) -> str:
    """What happened, in the words of the vocabulary; the step and the time are the caller's to print."""
    data, number = event["data"], event["attempt"]
    match event["type"]:
        case "action_started":
            limit = data.get("retry", {}).get("max_attempts")
            return f"attempt {attempt_of(number, limit)} started on {data.get('worker', 'a worker')}"
        case "action_completed":
            return f"attempt {number} succeeded"
        case "action_error" | "lease_expired" | "queue_expired" | "action_not_completed":
            return f"attempt {number} failed: {failure_words(data.get('failure'))}"
        case "action_snoozed":
            return f"attempt {number} asked to be run later (not counted)"
        case "step_retry":
            left = _left(number, data.get("max_attempts"))
            return f"retry in {format_duration(data['delay_seconds'])}{left}"
        case "step_retry_exhausted":
            return f"attempts are used up: {data.get('attempts')} of {data.get('max_attempts')}"
        case "step_failed_terminal":
            return f"failed for good: {failure_words(data.get('failure'))}"
        case "lease_released":
            return f"attempt {number} was handed back, uncounted ({data.get('reason')})"
        case "late_result":
            return f"a late report on attempt {number} was recorded and changed nothing"
        case "operator_action":
            why = f": {data['reason']}" if data.get("reason") else ""
            return f"{data.get('actor')} asked for {data.get('action')}{why}"
        case "execution_failed":
            return f"execution failed: {failure_words(data.get('failure'))}"
        case kind:
            return str(kind).removeprefix("step_").replace("_", " ")


def failure_words(failure: Mapping[str, Any] | None) -> str:
    if not failure:
        return "no reason was recorded"
    if "class" not in failure:
        return str(failure.get("cause", failure))
    message = one_line(str(failure.get("message") or ""))
    return f"{failure['class']} ({failure['reason']}){f': {message}' if message else ''}"


def attempt_of(number: int, limit: int | None) -> str:
    if limit is None:
        return f"{number}"
    # Attempts that do not count (snoozed, handed back, forgiven) have numbers too.
    return f"{number} of {limit}" if number <= limit else f"{number} (at most {limit} count)"


def _left(number: int | None, limit: int | None) -> str:
    if limit is None or number is None:
        return ""
    left = max(limit - number, 0)
    return f" ({left} {'retry' if left == 1 else 'retries'} left)"
