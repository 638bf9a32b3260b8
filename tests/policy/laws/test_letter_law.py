"""The dead letter that the events of a work item determine, and its comparison with the row."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tenax.model.letters.letter import MESSAGE_KEPT
from tenax.policy.laws.facts import LetterFacts, LoggedEvent
from tenax.policy.laws.letters import LetterFold, dead_letter_row

DAWN = datetime(2026, 1, 1, tzinfo=UTC)
BUSY = {"class": "transient", "reason": "http_503", "message": "busy"}
FAILED: dict[str, Any] = {"failure": BUSY, "decision": {"verdict": "fail", "rule": "attempts_exhausted"}}
HELD: dict[str, Any] = {"decision": {"verdict": "hold", "rule": "poison"}}
LOST = {"failure": {"class": "worker_lost", "reason": "worker_heartbeat_stale", "message": "silent"}}
DONE: dict[str, Any] = {"decision": {"verdict": "complete", "rule": "succeeded"}}
STOP: dict[str, Any] = {"decision": {"verdict": "stop", "rule": "execution_over"}}
CALLED_OFF: dict[str, Any] = {"failure": BUSY}


def folded(*events: tuple[str, dict[str, Any]]) -> LetterFold:
    """The letter after these events, one second apart."""
    letter = LetterFold()
    for n, (kind, data) in enumerate(events):
        letter.see(LoggedEvent(n, kind, DAWN + timedelta(seconds=n), "a", attempt=n + 1, data=data))
    return letter


QUARANTINED = (("lease_expired", LOST), ("retry_held", HELD))


@pytest.mark.parametrize(
    ("events", "status", "failed_times"),
    [
        ([("action_completed", DONE)], None, 0),
        ([("action_error", CALLED_OFF), ("step_retry", {})], None, 0),
        ([("step_failed_terminal", FAILED)], "open", 1),
        ([("item_failed", FAILED)], "open", 1),
        ([("compensation_failed", FAILED)], "open", 1),
        # A step that failed without an attempt, or because the execution was over, has no decision of its own.
        ([("step_failed_terminal", {"failure": BUSY})], None, 0),
        ([("retry_held", {"decision": {"verdict": "hold", "rule": "fleet_control"}})], None, 0),
        ([*QUARANTINED], "open", 1),
        ([*QUARANTINED, ("step_failed_terminal", FAILED)], "open", 1),
        ([*QUARANTINED, ("retry_released", {}), ("step_failed_terminal", FAILED)], "open", 1),
        ([*QUARANTINED, ("retry_released", {}), ("step_retry", {})], "redriven", 1),
        ([*QUARANTINED, ("retry_rescheduled", {}), ("action_completed", DONE)], "recovered", 1),
        ([*QUARANTINED, ("retry_rescheduled", {}), ("step_failed_terminal", FAILED)], "open", 2),
        ([*QUARANTINED, ("retry_rescheduled", {}), *QUARANTINED], "open", 2),
        ([*QUARANTINED, ("item_cancelled", {})], "resolved", 1),
        ([*QUARANTINED, ("retry_rescheduled", {}), ("action_error", {**CALLED_OFF, **STOP})], "resolved", 1),
        ([*QUARANTINED, ("retry_rescheduled", {}), ("action_completed", STOP)], "recovered", 1),
        ([("step_failed_terminal", FAILED), ("late_result", {"status": "succeeded"})], "open", 1),
    ],
)
def test_events_determine_a_letter(
    events: list[tuple[str, dict[str, Any]]], status: str | None, failed_times: int
) -> None:
    letter = folded(*events)
    assert (letter.status, letter.failed_times) == (status, failed_times)


def test_a_quarantined_item_has_the_failure_of_its_last_attempt() -> None:
    letter = folded(*QUARANTINED)
    assert (letter.rule, letter.failure_class, letter.reason, letter.message, letter.attempts) == (
        "poison", "worker_lost", "worker_heartbeat_stale", "silent", 2,
    )  # fmt: skip


def test_the_message_of_a_letter_is_bounded() -> None:
    letter = folded(("item_failed", {**FAILED, "failure": {**BUSY, "message": "x" * (MESSAGE_KEPT + 5)}}))
    assert len(letter.message) == MESSAGE_KEPT


def row(**more: Any) -> LetterFacts:
    letter = folded(("action_error", CALLED_OFF), ("item_failed", {**FAILED, "tolerated": True}))
    assert letter.first_at is not None
    known = LetterFacts(
        step="a", item=3, undoes=False, status="open", rule=letter.rule, failure_class=letter.failure_class,
        reason=letter.reason, message=letter.message, attempts=letter.attempts, failed_times=1, tolerated=True,
        first_at=letter.first_at, last_at=letter.first_at,
    )  # fmt: skip
    return replace(known, **more)


def breaches(found: LetterFacts | None) -> list[str]:
    letter = folded(("action_error", CALLED_OFF), ("item_failed", {**FAILED, "tolerated": True}))
    return list(dead_letter_row(letter, found))


@pytest.mark.parametrize("status", ["open", "discarded"])
def test_a_row_as_the_events_say_obeys_the_law(status: str) -> None:
    assert breaches(row(status=status)) == []


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("status", "recovered"),
        ("rule", "poison"),
        ("failure_class", "timeout"),
        ("reason", "http_504"),
        ("message", "another"),
        ("attempts", 9),
        ("failed_times", 2),
        ("tolerated", False),
        ("first_at", DAWN),
        ("last_at", DAWN),
    ],
)
def test_every_column_is_compared(column: str, value: Any) -> None:
    [breach] = breaches(row(**{column: value}))
    assert breach.startswith(f"{column} is ")


def test_a_letter_that_is_missing_is_found() -> None:
    assert breaches(None) == ["the dead letter is missing; the events say that it is open"]
