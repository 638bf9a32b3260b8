"""Decides what a transition changes in the dead letter of its item."""

from __future__ import annotations

from tenax.model.attempt.outcome import Failure
from tenax.model.decision import Decision, Ledger, read_ledger
from tenax.model.json_text import postgres_text
from tenax.model.letters.fingerprint import fingerprint_of
from tenax.model.letters.letter import (
    MESSAGE_KEPT,
    LetterChange,
    LetterMoved,
    LetterOpened,
    LetterPlace,
    LetterStatus,
    place_of,
)
from tenax.model.letters.views import DeadLetter
from tenax.policy.outcome_events import EndedAttempt, Item
from tenax.policy.plan import Plan

QUARANTINE = "poison"
"""The rule of a hold that makes a dead letter. Other holds end by themselves."""


def has_letter(ledger: Ledger, state: str) -> bool:
    """Returns whether a live item may have a dead letter: it is held, it was quarantined before, or an operator has
    started it again. Only an item that has cost a worker its lease can have been quarantined."""
    return state == "held" or bool(ledger.lost_by) or ledger.reopened > 0


def may_have_letter(ledger: str | None, state: str) -> bool:
    """Returns `has_letter` for a stored ledger. An item without one has no history."""
    return state == "held" or (ledger is not None and has_letter(read_ledger(ledger, 0.0), state))


def letter_change(
    plan: Plan,
    ended: EndedAttempt,
    decision: Decision,
    failure: Failure | None,
    *,
    tolerated: bool,
    succeeded: bool,
) -> LetterChange | None:
    """Returns what becomes of the item's dead letter. Returns None if it has none and gets none."""
    item = ended.item
    match decision.verdict:
        case "fail":
            assert failure is not None
            return _opened(plan, item, decision, failure, tolerated=tolerated)
        case "hold" if decision.rule == QUARANTINE:
            assert failure is not None
            return _opened(plan, item, decision, failure, tolerated=False)
        case "retry" if item.state == "held":
            return letter_moved(place_of(item), "redriven")
        case "complete" | "stop" if has_letter(decision.before, item.state):
            return letter_moved(place_of(item), "recovered" if succeeded else "resolved")
    return None


def letter_moved(place: LetterPlace, status: LetterStatus) -> LetterMoved:
    return LetterMoved(*place, status)


def _opened(plan: Plan, item: Item, decision: Decision, failure: Failure, *, tolerated: bool) -> LetterOpened:
    return LetterOpened(
        item_id=item.id,
        execution_id=item.execution_id,
        workflow=plan.workflow.name,
        step=item.step,
        item_no=item.item_no,
        compensates=item.compensates,
        tolerated=tolerated,
        rule=decision.rule,
        failure_class=failure.failure_class,
        reason=failure.reason,
        message=postgres_text(failure.message)[:MESSAGE_KEPT],
        fingerprint=fingerprint_of(failure.failure_class, failure.reason, item.step, failure.message),
        attempts=item.attempt,
    )


def redrive_refusal(letter: DeadLetter, execution_status: str, item_state: str | None) -> str | None:
    """Returns why an item cannot be started again. Returns None if it can."""
    if letter.status not in ("open", "discarded"):
        return f"it is {letter.status} already"
    if execution_status == "completed":
        why = "the step tolerated the failure" if letter.tolerated else "it went on without the item"
        return f"execution {letter.execution_id} has completed ({why}): the letter can only be discarded"
    anew = (
        f"run all of it again as a new one (tenax retry {letter.execution_id} --new), or discard the letter"
    )
    if execution_status == "cancelled":
        return f"execution {letter.execution_id} is cancelled: {anew}"
    if letter.compensation and item_state is None:
        return f"execution {letter.execution_id} has failed, and its compensation has ended: {anew}"
    return None
