"""Finds work that is due, has expired, or is refused by all workers, and the time at which more falls due."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tenax.policy.queued_action import SERVER_QUEUE
from tenax.store.connect import Connection
from tenax.store.rows import (
    ExpiredItem,
)
from tenax.store.statements import sql


async def lock_expired_items(
    tx: Connection, items: Sequence[int], *, life: str | None = None
) -> list[ExpiredItem]:
    """Locks and returns those of these items that have expired, or that this life of a worker holds."""
    return [ExpiredItem(*row) for row in await tx.fetch(sql("lock_expired_items"), items, life)]


async def find_expired_items(tx: Connection, limit: int, but: Sequence[int]) -> list[tuple[int, int]]:
    """Finds expired items with their executions. Items in `but` are left out."""
    return [(row["id"], row["execution_id"]) for row in await tx.fetch(sql("find_expired_items"), limit, but)]


async def find_expired_executions(tx: Connection, limit: int) -> list[int]:
    return [row["id"] for row in await tx.fetch(sql("find_expired_executions"), limit)]


@dataclass(frozen=True, slots=True)
class NextWake:
    """Holds the time at which something of each kind is next due, if that is soon."""

    now: datetime
    retry: datetime | None
    expiry: datetime | None
    """The end of a lease."""
    wait: datetime | None
    """The end of a wait, of a hold, or of the time that an item may be in the queue."""
    deadline: datetime | None
    start: datetime | None
    """The next tick of a schedule, or the start of an execution that starts later."""
    reap_after: datetime | None
    server_steps: bool
    """True if steps of the server's own are ready."""
    messages: bool
    slots: bool
    """True if a retry of a fan-out is due, and a slot is free."""


async def next_wake(tx: Connection, but: Sequence[int], within: float) -> NextWake:
    """Returns what is next due within `within` seconds. `but` are items that are isolated now."""
    return NextWake(*await tx.fetchrow(sql("next_wake"), but, SERVER_QUEUE, within))


async def find_unwanted_items(tx: Connection, alive_within: float) -> list[tuple[int, int]]:
    """Finds ready items that every live worker able to run them has refused, with their executions."""
    return [
        (row["id"], row["execution_id"]) for row in await tx.fetch(sql("find_unwanted_items"), alive_within)
    ]
