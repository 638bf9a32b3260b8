"""The short ways of reports: what has ended leads to the end of its execution, to one step, or to a retry."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from tenax.store.arrays import column, columns, lines
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
    ids, tokens, executions, due, ledgers, errors, events = zip(*retried, strict=True)
    rows = await tx.fetch(
        sql("retry_items"),
        *(column(ids), lines(tokens), column(executions), column(due), lines(ledgers), errors, lines(events)),
        now,
    )
    return {row[0] for row in rows}


async def end_fan_items(tx: Connection, items: Sequence[LeasedItem]) -> set[int]:
    """Those of these items of fan-outs whose lease was still theirs: they are over."""
    ids, tokens = column([item.id for item in items]), lines([item.token for item in items])
    return {row[0] for row in await tx.fetch(sql("end_fan_items"), ids, tokens)}


async def now(tx: Connection) -> datetime:
    """The time, by the only clock."""
    found: datetime = await tx.fetchval(sql("get_now"))
    return found


async def finish_items(tx: Connection, ends: Sequence[Finished]) -> set[int]:
    """The items that are over now. The others are not as they were expected to be, and untouched."""
    ids, tokens, executions, are_kept, *texts, next_ones = zip(*ends, strict=True)
    actions = {action: n for n, action in enumerate({one: None for one in next_ones if one is not None}, 1)}
    places = [actions.get(one) for one in next_ones]
    queued = zip(*actions, strict=True) if actions else [()] * len(QueuedAction._fields)
    rows = await tx.fetch(
        sql("finish_items"),
        *(column(ids), lines(tokens), column(executions), column(are_kept), *map(lines, texts)),
        *columns(places, *queued),
    )
    return {row[0] for row in rows}
