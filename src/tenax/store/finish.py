"""The short ways of reports: what has ended leads to the end of its execution, to one step, or to a retry."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from tenax.store.arrays import columns
from tenax.store.connect import Connection
from tenax.store.rows import LeasedItem
from tenax.store.statements import sql


class QueuedAction(NamedTuple):
    """What the item of an action is queued with, whatever its execution. The next fields of a `NewItem`, in their order."""

    step: str
    queue: str
    runtime: str
    priority: int
    labels: str | None
    max_attempts: int | None
    timeout: float | None
    queue_ttl: float | None
    vary: str | None


class Finished(NamedTuple):
    item_id: int
    token: str
    execution_id: int
    is_kept: bool
    """The step is one of several: how it ended is kept."""
    result: str | None
    """Of the step, where it is kept."""
    whole: str | None
    """The result of the execution, where that is complete."""
    head: str
    """The events up to the seconds that the attempt took, which the database knows."""
    tail: str
    next: QueuedAction | None


class Retried(NamedTuple):
    """An item that failed and goes back to the queue."""

    item_id: int
    token: str
    execution_id: int
    available_at: datetime
    ledger: str
    last_error: str
    events: str


async def retry_items(tx: Connection, retried: Sequence[Retried], now: datetime) -> set[int]:
    """The items that wait for their retry now. The others are not as they were expected to be, and untouched."""
    rows = await tx.fetch(sql("retry_items"), *columns(*zip(*retried, strict=True)), now)
    return {row[0] for row in rows}


async def end_fan_items(tx: Connection, items: Sequence[LeasedItem]) -> set[int]:
    """Those of these items of fan-outs whose lease was still theirs: they are over."""
    ids, tokens = [item.id for item in items], [item.token for item in items]
    return {row[0] for row in await tx.fetch(sql("end_fan_items"), *columns(ids, tokens))}


async def now(tx: Connection) -> datetime:
    """The time, by the only clock."""
    found: datetime = await tx.fetchval(sql("get_now"))
    return found


_NOTHING = (None,) * len(QueuedAction._fields)


async def finish_items(tx: Connection, ends: Sequence[Finished]) -> set[int]:
    """The items that are over now. The others are not as they were expected to be, and untouched."""
    own = list(zip(*ends, strict=True))
    if any(end.next is not None for end in ends):
        following = list(zip(*(end.next or _NOTHING for end in ends), strict=True))
    else:
        following = [()] * len(_NOTHING)
    rows = await tx.fetch(sql("finish_items"), *columns(*own[:-1], *following))
    return {row[0] for row in rows}
