"""Reads and writes queues and their limits, and finds work that is stuck: no worker takes it, or it is blocked and nothing would wake it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from tenax.model.events import timestamp
from tenax.model.execution_views import HeldWork
from tenax.model.fleet.views import IdleWorker, Queue
from tenax.model.json_text import decode
from tenax.policy.queued_action import SERVER_QUEUE
from tenax.store.connect import Connection
from tenax.store.statements import sql


async def list_queues(tx: Connection, alive_within: float) -> list[Queue]:
    rows = await tx.fetch(sql("list_queues"), alive_within, SERVER_QUEUE)
    return [_queue(row) for row in rows]


def _queue(row: Mapping[str, Any]) -> Queue:
    idle = [IdleWorker(**worker) for worker in decode(row["idle"])]
    times = {name: timestamp(row[name]) for name in ("oldest_at", "paused_at")}
    return Queue(**{**row, **times, "idle": idle})


class RecentEnds(NamedTuple):
    """Says how many attempts of a step ended, and which plan of its workflow is the newest."""

    step: str
    ended: int
    plan_id: int


async def sum_recent_ends(tx: Connection, since: datetime, most: int) -> list[RecentEnds]:
    """Counts the attempts that ended, for the `most` busiest steps."""
    rows = await tx.fetch(sql("sum_recent_ends"), since, most)
    return [RecentEnds(row["step"], row["n"], row["plan_id"]) for row in rows]


class QueueState(NamedTuple):
    """The time, how many items the rate of a queue lets start, and when its next retry is due."""

    now: datetime
    tokens: float | None
    next_at: datetime | None


async def queue_state(tx: Connection, queue: str) -> QueueState:
    return QueueState(**await tx.fetchrow(sql("find_queue_state"), queue))


async def limit_queue(
    tx: Connection, queue: str, *, concurrency: int | None, rate: float | None, burst: int | None
) -> None:
    if concurrency is None and rate is None:
        await tx.execute(sql("unlimit_queue"), queue)
    else:
        await tx.execute(sql("limit_queue"), queue, concurrency, rate, burst)


async def pause_queue(tx: Connection, queue: str, actor: str, reason: str | None) -> bool:
    """Pauses a queue. Returns False if it is paused already."""
    return await tx.fetchval(sql("pause_queue"), queue, actor, reason) is not None


async def resume_queue(tx: Connection, queue: str) -> bool:
    """Resumes a queue. Returns False if it was not paused."""
    return await tx.fetchval(sql("resume_queue"), queue) is not None


async def find_held_work(tx: Connection, execution_id: int) -> dict[str, HeldWork]:
    """Returns the held work of an execution by step, with the last error as the reason. The rule is not
    stored with it."""
    return {
        row["step"]: HeldWork(
            rule=None,
            reason=row["last_error"],
            until=timestamp(row["until"]),
            items=row["items"],
            item=row["item"],
            lost_by=decode(row["lost_by"]),
        )
        for row in await tx.fetch(sql("find_held_work"), execution_id)
    }


async def find_releasable_items(
    tx: Connection, poison_after: int, but_for: Sequence[int]
) -> list[tuple[int, int]]:
    """Returns items in quarantine, with their executions, that `poison_after` would not hold any more."""
    rows = await tx.fetch(sql("find_releasable_items"), poison_after, but_for)
    return [(row["id"], row["execution_id"]) for row in rows]


async def find_unserved_items(
    tx: Connection, worker_wait: float, alive_within: float, but_for: Sequence[int]
) -> list[tuple[int, int]]:
    """Returns items that no worker is able to run, with their executions."""
    rows = await tx.fetch(sql("find_unserved_items"), worker_wait, alive_within, SERVER_QUEUE, but_for)
    return [(row["id"], row["execution_id"]) for row in rows]


async def unblock_forgotten_items(tx: Connection, after: str, most: int) -> tuple[int, str | None]:
    """Unblocks items that are blocked although their limit has room. It looks at the limits of actions and at the
    `most` keys after this one. Returns the number of items, and the last key if there may be more."""
    row = await tx.fetchrow(sql("unblock_forgotten_items"), after, most)
    return row["unblocked"], row["last"]


async def find_ancestors(tx: Connection, execution_id: int) -> set[int]:
    """Returns an execution, its parent, and so on up to the root."""
    return {row["id"] for row in await tx.fetch(sql("find_ancestors"), execution_id)}
