"""Describes each event in one line of plain text. `run` prints these lines if there is no terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from tenax.drawing.fleet_words import fleet_event_words, is_of_worker
from tenax.drawing.text_lines import one_line, to_the_second
from tenax.model.durations import format_duration
from tenax.model.execution_views import Event
from tenax.policy.retry.attempt_words import limit_words, uncounted_progress

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
    "step_ended": "the step is over",
    "hold_expired": "it was held for too long",
}
"""Why there is no retry, by the rule of the decision. `explain` prints the whole sentence."""
_WHY_HELD = {
    "poison": "it has cost several workers their lease",
    "hold": "the fleet's controls keep it back",
    "budget": "the budget cannot pay it now",
}
_INSTEAD = {
    "continue": "the rest goes on",
    "value": "a value stands in for it",
    "step": "a fallback step stands in for it",
}
_HANDED_BACK = {"draining": "its worker is stopping", "no_handler": "its worker has no handler for it"}


class EventWording:
    """Describes the events of one execution in their order.

    It remembers how many attempts counted, since a single event does not say so. For events from the middle of a log it assumes that
    all earlier attempts counted, until an event tells.
    """

    def __init__(self, *, from_start: bool = True) -> None:
        self._from_start = from_start
        self._counted: dict[tuple[str | None, int | None, bool], int] = {}

    def words(self, event: Event) -> str:
        """Returns what happened. The caller prints step, item and time."""
        compensates = is_of_compensation(event)
        whose = (event.step, event.item, compensates)
        after = event.data.get("decision", {}).get("after")
        if after:
            self._counted[whose] = after["counted"]
        unknown = 0 if self._from_start else (event.attempt or 1) - 1
        words = _words(event, self._counted.get(whose, unknown))
        return f"compensation: {words}" if compensates else words


def is_of_compensation(event: Event) -> bool:
    return bool(event.type.startswith("compensation_") or event.data.get("compensation"))


def events_in_order(events: Iterable[Event]) -> list[Event]:
    """Sorts events by their time. The events of parallel steps are recorded in the order in which their transactions end."""
    return sorted(events, key=lambda event: (moment(event.at), event.seq))


def _words(event: Event, counted: int) -> str:
    data, number = event.data, event.attempt
    match event.type:
        case "step_enqueued" if "items" in data:
            return f"enqueued: {counted_items(data['items'])}, {data.get('parallelism', 1):,} at a time"
        case "action_started" | "compensation_started":
            return _started(data, number, counted + 1)
        case "action_completed":
            return f"attempt {number} succeeded{called_back(data)}"
        case (
            "action_error" | "lease_expired" | "queue_expired" | "action_not_completed" | "compensation_error"
        ):
            return f"attempt {number} failed: {failure_words(data.get('failure'))}"
        case "action_snoozed" if data.get("failure"):  # a snooze beyond the limit, as version 0.1 recorded it
            return f"attempt {number} failed: {failure_words(data['failure'])}"
        case "action_snoozed":
            return f"attempt {number} asked to be run later (not counted)"
        case "action_polled":
            return f"attempt {number}: not yet done (not counted; poll {data.get('polls')})"
        case "action_accepted":
            by = f"; it calls back by {data['deadline_at']}" if data.get("deadline_at") else ""
            return f"attempt {number} was accepted by its callee{by}"
        case "retry_held":
            return _held(data)
        case "compensation_retry" if data.get("held"):
            return _held(data)
        case "step_retry" | "compensation_retry":
            return f"retry in {duration(data['delay_seconds'])}{_left(data, number)}"
        case kind:
            return (
                _end_words(kind, data)
                or _budget_words(kind, data, number)
                or _other_words(kind, data, number)
            )


def _end_words(kind: str, data: Mapping[str, Any]) -> str | None:
    """Describes how a step, an item or a compensation ended. Returns None for other events."""
    match kind:
        case "step_retry_exhausted":
            return f"attempts are used up: {data.get('attempts')} of {data.get('max_attempts')}"
        case "step_failed_terminal" | "item_failed" | "compensation_failed":
            return f"{_failed_for_good(data)}{instead(data.get('on_failure'))}"
        case "step_completed" | "step_skipped":
            return f"{kind.removeprefix('step_')}{kept_from(data.get('carried_from'))}{instead(data.get('on_failure'))}"
        case _:
            return None


def _started(data: Mapping[str, Any], number: int | None, counted: int) -> str:
    limit = data.get("retry", {}).get("max_attempts")
    words = f"attempt {attempt_of(number, limit, counted)} started"
    if data.get("worker"):
        words += f" on {data['worker']}"
    if data.get("resumed_from"):
        words += f", from the checkpoint of attempt {data['resumed_from']}"
    if data.get("waiting"):
        words += f": {waiting_words(data['waiting'], child=data.get('child'))}"
    return f"{words}{vary_words(data.get('vary'))}"


def _held(data: Mapping[str, Any]) -> str:
    decision = data.get("decision", {})
    lost_by = decision.get("after", {}).get("lost_by", ())
    why = why_held(decision.get("rule"))
    if decision.get("rule") == "poison" and lost_by:
        why = f"it has cost {len(lost_by)} workers their lease ({', '.join(lost_by)})"
    return f"the retry is held back{f': {why}' if why else ''}"


def _budget_words(kind: str, data: Mapping[str, Any], number: int | None) -> str | None:
    """Describes an event in which a budget holds an item back or is charged. Returns None for other events."""
    match kind:
        case "item_held" if data.get("reason"):
            return f"held before its next attempt: {data['reason']}"
        case "budget_exceeded":
            return _overspent(data)
        case "attempt_charged":
            told = amounts_words(data.get("cost_usd"), data.get("tokens"))
            return f"attempt {number} ended without a report and is charged {told}"
        case _:
            return None


def _overspent(data: Mapping[str, Any]) -> str:
    whose = f"the tree of execution {data['tree']}" if data.get("tree") else "the item"
    limits = amounts_words(data.get("cost_usd"), data.get("tokens"))
    spent = amounts_words(
        data["spent_usd"] if data.get("cost_usd") is not None else None,
        data["spent_tokens"] if data.get("tokens") is not None else None,
    )
    return f"{whose} has used {spent}, more than its budget of {limits}"


def amounts_words(cost_usd: float | None, tokens: int | None) -> str:
    """Returns an amount such as `0.5 USD and 1,200 tokens`. What is None is left out."""
    parts = [f"{round(cost_usd, 9):g} USD"] if cost_usd is not None else []
    return " and ".join([*parts, *([f"{tokens:,} tokens"] if tokens is not None else [])]) or "nothing"


def _failed_for_good(data: Mapping[str, Any]) -> str:
    decision = data.get("decision", {})
    why = why_not(decision.get("rule"), decision.get("max_attempts")) or data.get("reason")
    tolerated = ", tolerated" if data.get("tolerated") else ""
    return f"failed for good{tolerated}{f' ({why})' if why else ''}: {failure_words(data.get('failure'))}"


def _other_words(kind: str, data: Mapping[str, Any], number: int | None) -> str:
    """Describes events of workers, of people and of the whole execution."""
    match kind:
        case "lease_released":
            reason = str(data.get("reason"))
            return f"attempt {number} was handed back, uncounted ({_HANDED_BACK.get(reason, reason)})"
        case "item_cancelled" | "compensation_cancelled" if "count" in data:
            return f"{counted_items(data['count'])} cancelled before they began"
        case "retry_released":
            by = f" by {data['actor']}" if data.get("actor") else ""
            return f"released from its hold{by}{f': {why}' if (why := data.get('reason')) else ''}"
        case "late_result":
            return f"a late report on attempt {number} was recorded and changed nothing"
        case "operator_action" if not is_of_worker(data):
            why = f": {data['reason']}" if data.get("reason") else ""
            whose = f" of execution {data['because_of']}" if data.get("because_of") else ""
            by = f" in bulk job {data['bulk']}" if data.get("bulk") else ""
            return f"{data.get('actor')} asked for {data.get('action')}{whose}{by}{why}"
        case "signal_received":
            with_data = f", with {one_line(data['data'], 100)}" if data.get("data") is not None else ""
            why = f": {data['reason']}" if data.get("reason") else ""
            return f"signal {data.get('name')} was received from {data.get('actor')}{with_data}{why}"
        case "step_unreachable":
            return f"unreachable because of {data.get('cause')}"
        case "execution_failed":
            return f"execution failed{in_step(data.get('failure'))}: {failure_words(data.get('failure'))}"
        case "execution_compensating":
            failed = f"{in_step(data.get('failure'))}: {failure_words(data.get('failure'))}"
            return f"what was done is undone, because the execution failed{failed}"
        case "execution_compensated":
            return f"compensations are over: {data.get('completed')} completed, {data.get('failed')} failed"
        case _:
            return fleet_event_words(kind, data) or _plain(kind)


def _plain(kind: str) -> str:
    """Returns the name of an event as its description: `item completed`, `execution paused`, `enqueued`."""
    return kind.removeprefix("step_").removeprefix("compensation_").replace("_", " ")


def counted_items(count: int) -> str:
    return f"{count:,} item{'s' if count != 1 else ''}"


def vary_words(vary: Mapping[str, Any] | None) -> str:
    """Returns a note that an entry of `vary` changed the inputs of an attempt, or an empty text."""
    return f" (vary {vary.get('entry')}: {one_line(vary.get('override'), 100)})" if vary else ""


def called_back(ended: Mapping[str, Any]) -> str:
    """Returns a note that the callee reported the end of an attempt, or an empty text."""
    return " (by callback)" if ended.get("via") == "callback" else ""


def instead(on_failure: str | None) -> str:
    """Returns a note that `on_failure` replaces a failure, or an empty text."""
    return f" (on_failure: {_INSTEAD.get(on_failure, on_failure)})" if on_failure else ""


def waiting_words(waiting: Mapping[str, Any], *, child: int | None = None) -> str:
    """Describes what an attempt waits for while no worker runs it."""
    by = f", until {to_the_second(waiting['deadline_at'])}" if waiting.get("deadline_at") else ""
    match waiting["for"]:
        case "sleep":
            return f"sleeping until {to_the_second(str(waiting.get('until')))}"
        case "signal":
            return f"waiting for signal {waiting.get('signal')}{by}"
        case "approval":
            return f"waiting for an approval{by}"
        case "child":
            return f"child execution {child}"
        case "callback":
            return f"waiting for its callback{by}"
        case other:
            return f"waiting: {other}"


def failure_words(failure: Mapping[str, Any] | None) -> str:
    if not failure:
        return "no reason was recorded"
    if "class" not in failure:
        return str(failure.get("cause", failure))
    message = one_line(str(failure.get("message") or ""))
    return f"{failure['class']} ({failure['reason']}){f': {message}' if message else ''}"


def in_step(failure: Mapping[str, Any] | None) -> str:
    """Returns ` in step fetch` if the failure of an execution is that of a step, else an empty text."""
    return f" in step {failure['step']}" if failure and failure.get("step") else ""


def kept_from(execution_id: int | None) -> str:
    """Returns a note that a retry kept the result of the step from the execution that it retries, or an empty text."""
    return f" (kept from execution {execution_id})" if execution_id else ""


def why_not(rule: str | None, limit: int | None = None) -> str:
    """Returns why a failure is not retried. Returns an empty text if there was no decision."""
    if rule == "attempts_exhausted" and limit == 1:
        return "the limit is 1 attempt"
    return _WHY_NOT.get(rule, rule) if rule else ""


def why_held(rule: str | None) -> str:
    """Returns why a retry is held."""
    return _WHY_HELD.get(rule, rule) if rule else ""


def attempt_of(number: int | None, limit: int | None, counted: int) -> str:
    """Returns the attempt, such as `2 of 3`, or `4 of 3 + 1 granted` if operators granted attempts.

    If earlier attempts did not count (snoozed, handed back or exempted), returns the number and the count.
    """
    if limit is None:
        return f"{number}"
    allowed = limit_words(limit, max(counted - limit, 0))
    return f"{number} of {allowed}" if number == counted else f"{number} (counted: {counted} of {allowed})"


def attempt_of_item(number: int, limit: int | None) -> str:
    """Returns the attempt of an item of a fan-out, whose counted attempts are not known."""
    return f"{number}" if limit is None else f"{number} of {limit}"


def duration(seconds: float) -> str:
    """Formats a duration with at most three significant digits."""
    if not 0 < seconds < 60:
        return format_duration(seconds)
    return format_duration(round(seconds, 2 - math.floor(math.log10(seconds))))


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def seconds_between(begin: str, end: str) -> float:
    """Returns the seconds between two times of the database, to the millisecond. Never negative, even if the clock was set back."""
    return max(round((moment(end) - moment(begin)).total_seconds(), 3), 0.0)


def _left(data: Mapping[str, Any], number: int | None) -> str:
    """Returns how many retries are left, or that the attempt did not count, in the words of `explain`."""
    limit, decision = data.get("max_attempts"), data.get("decision", {})
    if limit is None or "after" not in decision:
        return ""
    counted = decision["after"]["counted"]
    if counted == decision["before"]["counted"]:
        return f" ({uncounted_progress(number or counted + 1, counted, limit)})"
    left = max(limit - counted, 0)
    return f" ({left} {'retry' if left == 1 else 'retries'} left)"
