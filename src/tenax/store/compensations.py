"""Compensations: made from the log, started one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tenax.store.connect import Connection
from tenax.store.rows import NewItem
from tenax.store.statements import sql


@dataclass(frozen=True, slots=True)
class OpenItems:
    """What of an execution is open."""

    actions: bool
    compensating: bool
    waiting: bool
    """Compensations that have not been started."""


async def count_open_items(tx: Connection, execution_id: int) -> OpenItems:
    return OpenItems(*await tx.fetchrow(sql("count_open_items"), execution_id))


@dataclass(frozen=True, slots=True)
class Begun:
    """A compensation that had begun before its item was lost."""

    id: int
    step: str
    item_no: int | None
    state: str
    available_at: datetime
    attempt: int
    ledger: str | None


async def insert(tx: Connection, actions: Sequence[NewItem], now: datetime, max_hold: float) -> list[Begun]:
    """One item for each success of these steps that is not undone yet, in the reverse order of the log."""
    one = actions[0]
    await tx.execute(sql("plan_freely"))
    made = await tx.fetch(
        sql("insert_compensations"),
        one.execution_id,
        one.plan_id,
        now,
        [action.step for action in actions],
        [action.queue for action in actions],
        [action.runtime for action in actions],
        [action.priority for action in actions],
        [action.labels for action in actions],
        [action.max_attempts for action in actions],
        [action.timeout for action in actions],
        [action.queue_ttl for action in actions],
        [action.vary for action in actions],
        one.paused,
        max_hold,
    )
    return [Begun(*row) for row in made]


async def start_next(tx: Connection, execution_id: int, now: datetime) -> tuple[str, int | None] | None:
    """Queues the next compensation. Gives its step and its place in the list; None: there is none left."""
    row = await tx.fetchrow(sql("start_compensation"), execution_id, now)
    return None if row is None else (row["step"], row["item_no"])


async def count_ended(tx: Connection, execution_id: int) -> tuple[int, int]:
    """How many were completed, and how many failed."""
    row = await tx.fetchrow(sql("count_compensations"), execution_id)
    return row["completed"], row["failed"]
