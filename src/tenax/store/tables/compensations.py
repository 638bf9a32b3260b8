"""Inserts compensations from the log, and starts them one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tenax.policy.queued_action import QueuedAction
from tenax.store.connect import Connection
from tenax.store.rows import NewItem
from tenax.store.statements import named, sql


@dataclass(frozen=True, slots=True)
class OpenItems:
    """The open items of an execution."""

    actions: bool
    compensating: bool
    waiting: bool
    """True if there are compensations that have not been started."""


async def count_open_items(tx: Connection, execution_id: int) -> OpenItems:
    return OpenItems(*await tx.fetchrow(sql("count_open_items"), execution_id))


@dataclass(frozen=True, slots=True)
class StartedCompensation:
    """Is a compensation that had begun before its item was lost."""

    id: int
    step: str
    item_no: int | None
    state: str
    available_at: datetime
    attempt: int
    ledger: str | None


async def insert_compensations(
    tx: Connection, actions: Sequence[NewItem], now: datetime, max_hold: float
) -> list[StartedCompensation]:
    """Inserts an item for each success of these steps that is not undone yet, in the reverse order of the log."""
    one = actions[0]
    await tx.execute(sql("allow_hash_joins"))
    values = {
        "execution": one.execution_id,
        "plan": one.plan_id,
        "now": now,
        "paused": one.paused,
        "max_hold": max_hold,
        **{f"action_{name}": [getattr(action, name) for action in actions] for name in QueuedAction._fields},
    }
    text, arguments = named("insert_compensations").fill(values)
    made = await tx.fetch(text, *arguments)
    await tx.execute(sql("disallow_hash_joins"))
    return [StartedCompensation(*row) for row in made]


async def start_next(
    tx: Connection, execution_id: int, now: datetime, actions: Sequence[QueuedAction]
) -> tuple[str, int | None] | None:
    """Queues the next compensation. Returns its step and its item number, or None if none is left."""
    timed = [action for action in actions if action.queue_ttl is not None]
    steps, queue_ttls = [action.step for action in timed], [action.queue_ttl for action in timed]
    row = await tx.fetchrow(sql("start_compensation"), execution_id, now, steps, queue_ttls)
    return None if row is None else (row["step"], row["item_no"])


async def count_ended(tx: Connection, execution_id: int) -> tuple[int, int]:
    """Returns how many compensations were completed, and how many failed."""
    row = await tx.fetchrow(sql("count_compensations"), execution_id)
    return row["completed"], row["failed"]
