"""Defines the views of dead letters. Times are RFC 3339, in UTC, by the database's clock."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType, field

from tenax.model.execution_views import Attempt
from tenax.model.letters.letter import LetterStatus
from tenax.model.values import OpenPart, View
from tenax.model.views import ExecutionStatus, Explanation


class DeadLetter(View):
    """Describes an item that has failed for good, or is quarantined."""

    id: int
    """The number of the letter, which is the id of its item."""
    execution_id: int
    workflow: str
    step: str
    item: int | None
    """The number of the item in its fan-out, from 0."""
    compensation: bool
    """True if the item was to undo the step."""
    status: LetterStatus
    tolerated: bool
    """True if the step went on in spite of it."""
    rule: str
    """The rule of the decision that ended the retries: `poison` if the item is quarantined, `hold_expired` if it was held too
    long."""
    failure_class: str = field(name="class")
    reason: str
    message: str
    fingerprint: str
    attempts: int
    """The number of its last attempt."""
    failed_times: int
    """How often it has failed for good. It can fail again each time that it is started again."""
    first_at: str
    last_at: str
    changed_at: str
    """When its status changed last."""
    note: str | None
    """Why it was discarded."""
    actor: str | None


class LetterPayload(OpenPart):
    """Holds what an item worked on."""

    input: Any
    """The inputs of its execution."""
    element: Any = None
    """The element of a fan-out's list, as far as it is still stored."""


class DeadLetterInFull(DeadLetter):
    """Describes a dead letter with the history of its item."""

    execution_status: ExecutionStatus
    payload: LetterPayload
    failure: dict[str, Any] | None
    """The last failure with its evidence."""
    history: list[Attempt]
    explanation: Explanation | None
    """The last decision, explained."""
    can_redrive: bool
    can_discard: bool
    refusal: str | None
    """Why it cannot be redriven."""


class LetterGroup(View):
    """Describes the dead letters with one fingerprint."""

    fingerprint: str
    count: int
    failed_times: int
    """How often the items of the group have failed for good."""
    failure_class: str = field(name="class")
    reason: str
    example: str
    """The message of the newest letter."""
    newest: int
    """The number of the newest letter."""
    workflows: list[str]
    steps: list[str]
    first_at: str
    last_at: str
    share: float | None
    """The share of attempts with this failure, among all attempts that ended from the minute of the first letter to that of the
    last. Null if there were too many attempts to count."""


class LettersChanged(View):
    """Answers an action on dead letters."""

    changed: int
    ids: list[int]
    """The numbers of the letters that were changed, at most 1000 of them."""
    bulk: int | UnsetType = UNSET
    """The bulk job that redrives the letters of a filter."""
