"""What a transition changes: the values that the engine hands to the store.

There are several for each attempt, so they are msgspec structs: these cost a third of a dataclass to make. They are in no cycles, so the
garbage collector need not look at them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple

import msgspec

RunOutcome = Literal["sound", "failed", "lost", "released"]
"""`sound`: the worker did its part, whatever came of the attempt. `released`: the lease was handed back."""


class ItemResult(msgspec.Struct, gc=False):
    """How an item of a fan-out ended."""

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
    """An item that goes back to the queue: a retry, a snooze, a hold, or a lease handed back.

    A field that is None leaves its column unchanged.
    """

    id: int
    execution_id: int
    step: str
    item_no: int | None
    state: str
    available_at: datetime
    expires_at: datetime | None
    """When its time in the queue is over, or its hold."""
    attempt: int
    ledger: str | None = None
    last_error: str | None = None
    refused_by: tuple[str, ...] = ()
    placed: bool | None = None
    previous: str | None = None
    vary: str | None = None


class Run(NamedTuple):
    """What an attempt came to, as far as it speaks of its worker."""

    worker: str
    item_id: int
    started_at: datetime | None
    outcome: RunOutcome


@dataclass(frozen=True, slots=True)
class Loss:
    """A worker was lost over an item."""

    worker: str
    item_id: int
    silent_since: datetime | None
    """Its last heartbeat. None: it has started anew since, and was found to be lost then."""
    version: str | None
    able: int | None
    """How many workers there are that could run the item; None where none is known."""


class StepRow(msgspec.Struct, gc=False):
    """The state of a step of a graph, as its table has it."""

    execution_id: int
    step: str
    state: str
    waiting_for: int = 0
    attempts: int = 0
    result: Any = None
    failure: dict[str, Any] | None = None
    failures: Any = None
    """Of a fan-out: what its failed items failed with."""
    stored: bool = False
    """It is in its table already: the result of a fan-out is put together there."""
    left_out: dict[str, int] | None = None
    """What is too large to be read (`result`, `failures`), and its bytes: it is only in its table."""
