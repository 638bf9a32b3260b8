"""Defines the diagnosis of an execution, a step, an item, a worker or a queue: why it is in its state.

Times are RFC 3339, in UTC, by the database's clock.
"""

from __future__ import annotations

from typing import Literal

from tenax.model.values import View

DoorName = Literal[
    "pause",
    "hold",
    "worker",
    "limit",
    "signal",
    "approval",
    "child",
    "callback",
    "due",
    "sleep",
    "slot",
    "needs",
    "state",
    "heartbeat",
    "health",
    "slots",
    "work",
]


class Remedy(View):
    """Says what a person can do, and the arguments of `tenax` that do it, if a command does."""

    words: str
    command: list[str] | None = None


class Door(View):
    """Names a condition that keeps work from running now."""

    door: DoorName
    subject: str
    """What it keeps from running: `step fetch`, `step load[3]`, `worker w1`."""
    reason: str
    opens_at: str | None = None
    """When it opens by itself. Null if that depends on something else."""
    child: int | None = None
    """The execution that it waits for, if that is the door."""
    remedies: list[Remedy] = []


class Diagnosis(View):
    """Says in one sentence why something is in its state. Then comes the evidence."""

    about: str
    sentence: str
    doors: list[Door] = []
    """All closed doors. The first one is the cause that the sentence names."""
    next: str | None = None
    """What happens next by itself."""
    remedies: list[Remedy] = []
    evidence: list[str] = []
    """Further facts, one in each line."""
