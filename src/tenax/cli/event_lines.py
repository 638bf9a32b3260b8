"""One event as one line of plain text: what `run` prints where there is no terminal to draw on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from tenax.cli.output import one_line
from tenax.model.durations import format_duration

Event = Mapping[str, Any]

_WHY_NOT = {
    "attempts_exhausted": "attempts used up",
    "rule_attempts_exhausted": "attempts of its rule used up",
    "class_default": "its class is not retried",
    "never_retried_class": "its class is never retried",
    "not_retryable": "retryable: false",
    "retries_disabled": "retries are switched off",
    "never_on": "never_on names it",
    "stop_when": "stop_when is true",
    "retry_when": "retry_when is false",
    "rule_retry": "a rule says retry: false",
    "give_up_after": "give_up_after would be passed",
    "budget": "the budget is spent",
    "condition_error": "a condition cannot be evaluated",
    "execution_ended": "the execution is over",
}
"""Why there is no retry, by the rule of the decision: `explain` has the whole sentence."""
_HANDED_BACK = {"draining": "its worker is stopping", "no_handler": "its worker has no handler for it"}


class Teller:
    """Tells the events of one execution in their order. It remembers how many attempts counted: no single event says so."""

    def __init__(self) -> None:
        self._counted: dict[tuple[str | None, int | None], int] = {}

    def words(self, event: Event) -> str:
        """What happened, in the words of the vocabulary; the step and the time are the caller's to print."""
        whose = (event["step"], event["item"])
        after = event["data"].get("decision", {}).get("after")
        if after:
            self._counted[whose] = after["counted"]
        return _words(event, self._counted.get(whose, 0))


def in_order(events: Iterable[Event]) -> list[Event]:
    """By their time: steps that run side by side are written down in whatever order their transactions end."""
    return sorted(events, key=lambda event: (moment(event["at"]), event["seq"]))


def _words(event: Event, counted: int) -> str:
    data, number = event["data"], event["attempt"]
    match event["type"]:
        case "action_started":
            limit = data.get("retry", {}).get("max_attempts")
            return f"attempt {attempt_of(number, limit, counted + 1)} started on {data.get('worker', 'a worker')}"
        case "action_completed":
            return f"attempt {number} succeeded"
        case "action_error" | "lease_expired" | "queue_expired" | "action_not_completed":
            return f"attempt {number} failed: {failure_words(data.get('failure'))}"
        case "action_snoozed":
            return f"attempt {number} asked to be run later (not counted)"
        case "step_retry":
            return f"retry in {duration(data['delay_seconds'])}{_left(data)}"
        case "step_retry_exhausted":
            return f"attempts are used up: {data.get('attempts')} of {data.get('max_attempts')}"
        case "step_failed_terminal":
            decision = data.get("decision", {})
            why = why_not(decision.get("rule"), decision.get("max_attempts")) or data.get("reason")
            return f"failed for good{f' ({why})' if why else ''}: {failure_words(data.get('failure'))}"
        case "step_completed" | "step_skipped" as kind:
            return f"{kind.removeprefix('step_')}{kept_from(data.get('carried_from'))}"
        case kind:
            return _other_words(kind, data, number)


def _other_words(kind: str, data: Mapping[str, Any], number: int | None) -> str:
    """What concerns the worker, a person or the execution as a whole."""
    match kind:
        case "lease_released":
            reason = str(data.get("reason"))
            return f"attempt {number} was handed back, uncounted ({_HANDED_BACK.get(reason, reason)})"
        case "late_result":
            return f"a late report on attempt {number} was recorded and changed nothing"
        case "operator_action":
            why = f": {data['reason']}" if data.get("reason") else ""
            return f"{data.get('actor')} asked for {data.get('action')}{why}"
        case "execution_failed":
            return f"execution failed{in_step(data.get('failure'))}: {failure_words(data.get('failure'))}"
        case _:
            return kind.removeprefix("step_").replace("_", " ")


def failure_words(failure: Mapping[str, Any] | None) -> str:
    if not failure:
        return "no reason was recorded"
    if "class" not in failure:
        return str(failure.get("cause", failure))
    message = one_line(str(failure.get("message") or ""))
    return f"{failure['class']} ({failure['reason']}){f': {message}' if message else ''}"


def in_step(failure: Mapping[str, Any] | None) -> str:
    """` in step fetch`, where the failure of an execution is that of a step."""
    return f" in step {failure['step']}" if failure and failure.get("step") else ""


def kept_from(execution_id: int | None) -> str:
    """Behind the state of a step that a retry took over from the execution it retries."""
    return f" (kept from execution {execution_id})" if execution_id else ""


def why_not(rule: str | None, limit: int | None = None) -> str:
    """Why a failure is not retried, in a few words; nothing where there was no decision."""
    if rule == "attempts_exhausted" and limit == 1:
        return "the limit is 1 attempt"
    return _WHY_NOT.get(rule, rule) if rule else ""


def attempt_of(number: int, limit: int | None, counted: int) -> str:
    """`2 of 3`. Attempts that do not count (snoozed, handed back, forgiven) have numbers too: then both are said."""
    if limit is None:
        return f"{number}"
    return f"{number} of {limit}" if number == counted else f"{number} (counted: {counted} of {limit})"


def duration(seconds: float) -> str:
    """For people: no more than three digits that matter."""
    if not 0 < seconds < 60:
        return format_duration(seconds)
    return format_duration(round(seconds, 2 - math.floor(math.log10(seconds))))


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _left(data: Mapping[str, Any]) -> str:
    """As `explain` counts: the attempts that count, whatever their numbers."""
    limit, decision = data.get("max_attempts"), data.get("decision", {})
    if limit is None or "after" not in decision:
        return ""
    counted = decision["after"]["counted"]
    if counted == decision["before"]["counted"]:
        return f" (not counted: {counted} of {limit} used)"
    left = max(limit - counted, 0)
    return f" ({left} {'retry' if left == 1 else 'retries'} left)"
