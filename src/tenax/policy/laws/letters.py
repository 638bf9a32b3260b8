"""Folds the events of a work item into its dead letter, and compares the letter with its row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tenax.model.letters.letter import MESSAGE_KEPT, LetterStatus
from tenax.policy.laws.facts import ENDS, LetterFacts, LoggedEvent
from tenax.policy.laws.law import law
from tenax.policy.letters import QUARANTINE

_AS_EVENTS_SAY: Mapping[str, tuple[LetterStatus, ...]] = {
    "open": ("open", "discarded"),
    "resolved": ("resolved", "discarded"),
}
"""The statuses that a row may have. Its item does not show that an operator discarded it."""


@dataclass(slots=True)
class LetterFold:
    """The dead letter of a work item after the events so far. Without a status it has none."""

    status: LetterStatus | None = None
    rule: str = ""
    failure_class: str = ""
    reason: str = ""
    message: str = ""
    attempts: int = 0
    failed_times: int = 0
    tolerated: bool = False
    first_at: datetime | None = None
    last_at: datetime | None = None
    failure: Mapping[str, Any] | None = None
    """The failure of the last attempt."""

    def see(self, event: LoggedEvent) -> None:
        """Takes in the next event of the work item."""
        kind = event.kind
        if kind in ENDS:
            self._end(event)
        elif (
            kind in ("step_completed", "item_completed", "step_failed_terminal", "item_failed")
            and "operator" in event.data
        ):
            self._move("resolved", "open", "redriven")
        elif kind in ("step_failed_terminal", "item_failed"):
            if (event.decision or {}).get("verdict") == "fail":
                self._open(event, event.failure)
        elif kind == "retry_held":
            if (event.decision or {}).get("rule") == QUARANTINE:
                self._open(event, self.failure)
        elif kind in ("step_retry", "retry_rescheduled"):
            self._move("redriven", "open")
        elif kind == "item_cancelled":
            self._move("resolved", "open", "redriven")

    def _end(self, event: LoggedEvent) -> None:
        self.failure = event.failure
        decision = event.decision
        if decision is None or self.status is None:
            return
        if decision.get("verdict") == "complete" or event.kind == "action_completed":
            self.status = "recovered"
        elif decision.get("verdict") == "stop":
            self._move("resolved", "open", "redriven")

    def _open(self, event: LoggedEvent, failure: Mapping[str, Any] | None) -> None:
        known = failure or {}
        self.failed_times += self.status != "open"
        self.status = "open"
        self.rule = str((event.decision or {}).get("rule", ""))
        self.failure_class, self.reason = str(known.get("class", "")), str(known.get("reason", ""))
        self.message = str(known.get("message", ""))[:MESSAGE_KEPT]
        self.attempts = event.attempt or 0
        self.tolerated = bool(event.data.get("tolerated"))
        self.first_at, self.last_at = self.first_at or event.at, event.at

    def _move(self, status: LetterStatus, *before: LetterStatus) -> None:
        if self.status in before:
            self.status = status


@law(
    "dead-letter-row",
    "An item has a dead letter if and only if its verdict was fail or it was quarantined. The letter has the class, the reason, the message and the number of attempts of the last such failure.",
)
def dead_letter_row(letter: LetterFold, row: LetterFacts | None) -> Iterator[str]:
    if letter.status is None:
        if row is not None:
            yield "it has a dead letter, but the events have no failure that needs one"
        return
    if row is None:
        yield f"the dead letter is missing; the events say that it is {letter.status}"
        return
    expected = _AS_EVENTS_SAY.get(letter.status, (letter.status,))
    if row.status not in expected:
        yield f"status is {row.status!r}, the events say {letter.status!r}"
    for name in ("rule", "failure_class", "reason", "message", "attempts", "failed_times", "tolerated", "first_at", "last_at"):  # fmt: skip
        found, said = getattr(row, name), getattr(letter, name)
        if found != said:
            yield f"{name} is {str(found)[:200]!r}, the events say {str(said)[:200]!r}"
