"""Defines the columns of a queued item that depend on its action and not on its execution."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from tenax.model.decision import Ledger
from tenax.model.definition.types import SERVER_TYPES
from tenax.model.definition.workflow import Step
from tenax.model.json_text import encode
from tenax.model.policy import Policy
from tenax.policy.retry.vary import varied

SERVER_QUEUE = "tenax:server"
"""The queue of items that the server carries out itself. No queue of a definition can have this name."""
BUDGET_QUEUE = "tenax:budget"
"""The queue of items that wait until the budget of their tree can pay their next attempt. No worker serves it."""


class QueuedAction(NamedTuple):
    """Holds the columns of a new item that depend only on its action."""

    step: str
    queue: str
    runtime: str
    priority: int
    labels: str | None
    max_attempts: int | None
    timeout: float | None
    queue_ttl: float | None
    vary: str | None


def queued_action(step: Step, policy: Policy) -> QueuedAction:
    return QueuedAction(
        step=step.name,
        queue=SERVER_QUEUE if step.type in SERVER_TYPES else step.queue,
        runtime=step.type,
        priority=step.priority,
        labels=encode(dict(step.labels)) if step.labels else None,
        max_attempts=policy.max_attempts,
        timeout=step.timeout,
        queue_ttl=step.queue_ttl,
        vary=vary_after(policy, Ledger()),
    )


def queue_deadline(step: Step, available_at: datetime) -> datetime | None:
    """Returns the time until which an item may wait in the queue."""
    return None if step.queue_ttl is None else available_at + timedelta(seconds=step.queue_ttl)


def vary_after(policy: Policy, ledger: Ledger) -> str | None:
    """Returns the variation of the next attempt after those of this ledger."""
    if not policy.vary:
        return None
    changes = varied(policy, ledger)
    return encode(changes) if changes is not None and changes["override"] else None
