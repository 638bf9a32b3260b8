"""Defines laws on the attempts of one work item: numbers, starts, ends, tokens, limits and due times.

Each check gets the state of the work item before an event, and the event.
"""

from __future__ import annotations

from tenax.policy.laws.facts import CLOCK_SET_BACK, ENDS, LoggedEvent
from tenax.policy.laws.law import Breach, Law, law
from tenax.policy.laws.work import LATE, OPEN, RUNNING, WorkFold, reported_text

_DECIDES = frozenset(
    {"step_retry", "retry_held", "step_retry_exhausted", "step_failed_terminal", "item_failed"}
)


def ends_without_start(event: LoggedEvent) -> bool:
    """Returns whether the event ends an attempt that never began: no worker leased it in time, or none
    has its handler."""
    if event.kind == "queue_expired":
        return True
    failure = event.failure or {}
    return event.kind == "action_error" and event.token is None and failure.get("reason") == "unknown_handler"


def _is_called_back(work: WorkFold, event: LoggedEvent) -> bool:
    """Returns whether the event is the success of an earlier attempt, which its callee reports while the item is open."""
    return (
        event.data.get("via") == "callback"
        and event.kind in ("action_completed", "action_polled")
        and 1 <= (event.attempt or 0) <= work.attempt
        and work.status in OPEN
    )


@law("attempt-number-used-once", "Attempt numbers of a work item rise by one, and none is used twice.")
def attempt_number_used_once(work: WorkFold, event: LoggedEvent) -> Breach | None:
    if event.kind != "action_started" or event.attempt == work.attempt + 1:
        return None
    ids = (work.start.id, event.id) if work.start is not None else (event.id,)
    return Breach(f"attempt {event.attempt} started after attempt {work.attempt}", ids)


@law("start-of-ready-work", "An attempt starts only while its work item is queued or its retry is planned.")
def start_of_ready_work(work: WorkFold, event: LoggedEvent) -> Breach | None:
    if event.kind != "action_started" or work.status in ("queued", "retrying"):
        return None
    if work.status == "new" and work.item is not None and not work.undoes:
        return None  # the items of a fan-out are queued by one event of their step
    return Breach(
        f"attempt {event.attempt} started while the work item was {work.status}", _both(work, event)
    )


@law("no-start-before-due", "No attempt starts before the time that its retry is due.")
def no_start_before_due(work: WorkFold, event: LoggedEvent) -> Breach | None:
    if event.kind != "action_started" or work.due is None or event.at >= work.due:
        return None
    words = f"attempt {event.attempt} started at {event.at.isoformat()}, due at {work.due.isoformat()}"
    return Breach(words, _both(work, event))


@law(
    "attempts-within-limit",
    "No attempt starts once the counted attempts have reached `max_attempts`, or one where `retryable` is false, plus those that operators granted.",
)
def attempts_within_limit(work: WorkFold, event: LoggedEvent) -> Breach | None:
    policy = work.action.policy.policy
    limit = policy.max_attempts if policy.retryable else 1
    if event.kind != "action_started" or limit is None or work.counted < max(limit, 1) + work.granted:
        return None
    granted = f", and {work.granted} granted" if work.granted else ""
    words = f"attempt {event.attempt} started after {work.counted} counted attempts; the limit is {limit}{granted}"
    return Breach(words, _both(work, event))


@law(
    "end-follows-start",
    "An attempt that ends has started. Only an item that expires in the queue, or for which no worker has a handler, uses a number without a start.",
)
def end_follows_start(work: WorkFold, event: LoggedEvent) -> Breach | None:
    number = event.attempt or 0
    if event.kind not in ENDS or number <= work.attempt:
        return None
    if ends_without_start(event) and number == work.attempt + 1 and work.status not in RUNNING:
        return None
    return Breach(
        f"{event.type} of attempt {number}, but the last one that started is {work.attempt}",
        _both(work, event),
    )


@law(
    "one-end-per-attempt",
    "An attempt ends once. A callee may still report the success of an attempt that was given up, while the item is open.",
)
def one_end_per_attempt(work: WorkFold, event: LoggedEvent) -> Breach | None:
    number = event.attempt or 0
    if event.kind not in (*ENDS, "lease_released") or number > work.attempt:
        return None
    if work.status in RUNNING and number == work.attempt and work.outcome is None:
        return None
    if event.kind in ENDS and _is_called_back(work, event):
        return None
    return Breach(f"{event.type} of attempt {number}, which had ended before", _both(work, event))


@law(
    "end-not-before-start",
    "The end of an attempt is not earlier than its start, unless the clock of PostgreSQL was set back by more than a minute.",
)
def end_not_before_start(work: WorkFold, event: LoggedEvent) -> Breach | None:
    start = work.start
    if event.kind not in ENDS or start is None or start.attempt != event.attempt or event.at >= start.at:
        return None
    if (start.at - event.at).total_seconds() > CLOCK_SET_BACK:
        return None
    words = f"attempt {event.attempt} started at {start.at.isoformat()} and ended at {event.at.isoformat()}"
    return Breach(words, (start.id, event.id))


@law(
    "report-names-current-token",
    "The token of a lease ends only its own attempt. A report that was applied is not recorded as late again. Only a report that contradicts it is recorded.",
)
def report_names_current_token(work: WorkFold, event: LoggedEvent) -> Breach | None:
    if event.token is None:
        return None
    known = work.tokens.get(event.token)
    if event.type == "late_result":
        # A report that is stored in part, or was not compared, cannot be recognised.
        if known != reported_text(event) or "head" in event.data or "unchecked" in event.data:
            return None
        return Breach("a report that was applied is recorded as late", (event.id,))
    if known is not None:
        words = "is of a report that was late" if known == LATE else "has ended an attempt before"
        return Breach(f"the token of attempt {event.attempt} {words}", _both(work, event))
    start = work.start
    if start is not None and start.token not in (None, event.token):
        return Breach(f"attempt {event.attempt} was leased with another token", (start.id, event.id))
    return None


@law(
    "outcome-decided-at-once",
    "The end of an attempt and the decision on it are written by one transaction, one directly after the other.",
)
def outcome_decided_at_once(work: WorkFold, event: LoggedEvent) -> Breach | None:
    outcome = work.outcome
    if event.type == "late_result":
        return None
    if outcome is None:
        # The server that releases a held item decides again, and no attempt has ended.
        released = "released_due_in" in (event.decision or {}).get("controls", {})
        decides = event.kind in ("step_retry", "retry_held") and not released
        return Breach(f"{event.type}, but no attempt has ended", _both(work, event)) if decides else None
    if event.kind in _DECIDES and event.transaction == outcome.transaction:
        return None
    words = "another transaction" if event.kind in _DECIDES else f"{event.type}, not by a decision"
    return Breach(
        f"{outcome.type} of attempt {outcome.attempt} is followed by {words}", (outcome.id, event.id)
    )


@law(
    "work-ends-once",
    "Nothing of a work item is queued or retried after its end, unless an operator starts it again.",
)
def work_ends_once(work: WorkFold, event: LoggedEvent) -> Breach | None:
    if not work.ended or _starts_again(work, event):
        return None
    if event.kind in ("step_enqueued", "step_retry", "retry_held", "retry_released", "retry_rescheduled"):
        return Breach(f"{event.type} after the work item was {work.status}", _both(work, event))
    return None


def _starts_again(work: WorkFold, event: LoggedEvent) -> bool:
    """Returns whether an operator starts the ended work again. Work that has succeeded stays as it is."""
    if work.status not in ("failed", "cancelled", "stopped"):
        return False
    if event.kind == "step_enqueued":
        return not work.attempt
    return event.kind == "retry_rescheduled" and event.data.get("was") in ("failed", "cancelled")


@law(
    "operators-change-ledgers-as-said",
    "An operator grants one attempt at a time, or resets what is counted. Attempt numbers and cost go on.",
)
def operators_change_ledgers_as_said(work: WorkFold, event: LoggedEvent) -> Breach | None:
    if event.kind != "retry_rescheduled" or "ledger" not in event.data:
        return None
    before, after, reset = work.ledger or {}, event.data["ledger"], bool(event.data.get("reset"))
    reopens = "was" in event.data or (reset and bool(before.get("lost_by")))
    expected = {
        "counted": 0 if reset else work.counted,
        "exempted": 0 if reset else work.exempted,
        "cost": before.get("cost", 0.0),
        "reopened": before.get("reopened", 0) + reopens,
    }
    found = {name: after.get(name, 0) for name in expected}
    granted = after.get("granted", 0) - (0 if reset else work.granted)
    if (found == expected or work.old_version) and granted in ((0,) if reset else (0, 1)):
        return None
    return Breach(f"it leaves {found} and grants {granted}; {expected} was to be left", _both(work, event))


def undecided(work: WorkFold) -> Breach | None:
    """Checks `outcome_decided_at_once` at the end of the events."""
    outcome = work.outcome
    if outcome is None:
        return None
    return Breach(f"there is no decision on the {outcome.type} of attempt {outcome.attempt}", (outcome.id,))


def _both(work: WorkFold, event: LoggedEvent) -> tuple[int, ...]:
    return (work.last, event.id) if work.last else (event.id,)


ATTEMPT_LAWS: tuple[Law, ...] = (
    attempt_number_used_once,
    start_of_ready_work,
    no_start_before_due,
    attempts_within_limit,
    end_follows_start,
    one_end_per_attempt,
    end_not_before_start,
    report_names_current_token,
    outcome_decided_at_once,
    work_ends_once,
    operators_change_ledgers_as_said,
)
