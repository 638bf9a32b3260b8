"""Defines the changes of a transition, which the engine hands to the store.

There are several for each attempt, so they are msgspec structs, which cost a third of a dataclass to make. They are never part of a
reference cycle, so the garbage collector skips them (`gc=False`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple

import msgspec

RunOutcome = Literal["sound", "failed", "lost", "released"]
"""How the worker did. `sound`: it did its part, even if the attempt failed. `released`: it handed the lease back."""


class ItemResult(msgspec.Struct, gc=False):
    """Records how an item of a fan-out ended."""

    item_id: int
    execution_id: int
    step: str
    item_no: int | None
    state: str
    attempts: int
    result: Any
    failure: dict[str, Any] | None
    keep_element: bool


class ItemAgain(msgspec.Struct, gc=False):
    """Describes an item that returns to the queue: for a retry, a snooze, a hold, or because its lease was handed back.

    A field that is None leaves its column unchanged.
    """

    id: int
    execution_id: int
    step: str
    item_no: int | None
    state: str
    available_at: datetime
    expires_at: datetime | None
    """When its time in the queue or its hold ends."""
    attempt: int
    ledger: str | None = None
    last_error: str | None = None
    refused_by: tuple[str, ...] = ()
    placed: bool | None = None
    previous: str | None = None
    vary: str | None = None


class Run(NamedTuple):
    """Records what the outcome of an attempt says about its worker."""

    worker: str
    item_id: int
    started_at: datetime | None
    outcome: RunOutcome


@dataclass(frozen=True, slots=True)
class Loss:
    """Records that a worker was lost while it had an item."""

    worker: str
    item_id: int
    silent_since: datetime | None
    """The time of its last heartbeat. None if the loss was noticed when the worker started again."""
    version: str | None
    able: int | None
    """The number of workers that are able to run the item. None if it is not known."""


class StepRow(msgspec.Struct, gc=False):
    """Holds the state of a step of a graph, as in its table."""

    execution_id: int
    step: str
    state: str
    waiting_for: int = 0
    attempts: int = 0
    result: Any = None
    failure: dict[str, Any] | None = None
    failures: Any = None
    """The failures of the failed items of a fan-out."""
    stored: bool = False
    """True if the row is stored already: the database puts the result of a fan-out together."""
    left_out: dict[str, int] | None = None
    """The sizes in bytes of `result` and `failures` if they are too large to be read. They are only in the table then."""
