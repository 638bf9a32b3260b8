"""Lists the states that may follow each other. The schema's CHECK constraints name the same states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

Table = Mapping[str, tuple[str, ...]]

EXECUTION: Final[Table] = {
    "running": ("paused", "completed", "failed", "cancelled"),
    "paused": ("running", "completed", "failed", "cancelled"),
    "completed": (),
    "failed": ("running",),
    "cancelled": (),
}
STEP: Final[Table] = {
    "pending": ("queued", "completed", "failed", "skipped", "unreachable", "cancelled"),
    "queued": ("running", "retrying", "held", "completed", "failed", "cancelled"),
    "running": ("queued", "retrying", "held", "completed", "failed", "cancelled"),
    "retrying": ("running", "retrying", "held", "completed", "failed", "cancelled"),
    "held": ("queued", "retrying", "completed", "failed", "cancelled"),
    "completed": (),
    "failed": ("pending",),
    "skipped": (),
    "unreachable": ("pending",),
    "cancelled": ("pending",),
}
ITEM: Final[Table] = {
    "waiting": ("queued", "succeeded", "failed", "cancelled"),
    "queued": ("leased", "accepted", "retrying", "held", "succeeded", "failed", "cancelled"),
    "leased": ("queued", "accepted", "retrying", "held", "succeeded", "failed", "cancelled"),
    "accepted": ("retrying", "held", "succeeded", "failed", "cancelled"),
    "retrying": ("leased", "accepted", "retrying", "held", "succeeded", "failed", "cancelled"),
    "held": ("queued", "retrying", "succeeded", "failed", "cancelled"),
    "succeeded": (),
    "failed": ("retrying",),
    "cancelled": ("waiting", "queued", "retrying"),
}
WORKER: Final[Table] = {
    "active": ("draining", "paused", "gone"),
    "draining": ("active", "gone"),
    "paused": ("active", "draining", "gone"),
    "gone": ("active",),
}
TRANSITIONS: Final[Mapping[str, Table]] = {
    "execution": EXECUTION,
    "step": STEP,
    "item": ITEM,
    "worker": WORKER,
}


class IllegalTransition(AssertionError):
    """Reports a bug of Tenax itself. The transaction is rolled back, and nothing is written."""


def check(what: str, before: str, after: str) -> None:
    """Refuses a transition that the table does not contain."""
    if after not in TRANSITIONS[what][before]:
        raise IllegalTransition(f"{what}: {before} -> {after} is not a legal transition")
