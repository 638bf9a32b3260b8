"""Reads and writes fan-outs: their counters, their ends, and the items that may get a slot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import asyncpg

from tenax.errors import TooLarge
from tenax.model.events import timestamp
from tenax.model.execution_views import left_out
from tenax.model.json_text import decode
from tenax.model.views import ItemInfo
from tenax.store.array_params import attributes
from tenax.store.connect import Connection
from tenax.store.journal import encoded, new_item_values
from tenax.store.rows import FanOutRow, NewItem
from tenax.store.statements import named, sql
from tenax.store.tables.executions import awaited
from tenax.store.tables.steps import StepKey
from tenax.store.time_slices import Sliced


async def load_fan_outs(tx: Connection, keys: Sequence[StepKey]) -> dict[StepKey, FanOutRow]:
    rows = await tx.fetch(sql("load_fan_outs"), [key[0] for key in keys], [key[1] for key in keys])
    return {(row["execution_id"], row["step"]): FanOutRow(*row) for row in rows}


async def load_open_fan_outs(tx: Connection, executions: Sequence[int]) -> list[FanOutRow]:
    return [FanOutRow(*row) for row in await tx.fetch(sql("load_open_fan_outs"), executions)]


async def close_fan_out(
    tx: Connection, fan_out: FanOutRow, state: str, failure: dict[str, Any] | None, *, gather: bool = True
) -> None:
    """Ends a fan-out's step. The database gathers its result, which may be large and is rarely read here. If not `gather`, only the items
    keep their results."""
    arguments = (fan_out.execution_id, fan_out.step, state, fan_out.attempts, encoded(failure))
    try:
        async with tx.transaction():
            await tx.execute(sql("close_fan_out"), *arguments, fan_out.total if gather else 0)
    except asyncpg.ProgramLimitExceededError as error:
        raise TooLarge(
            f"the results of its {fan_out.total:,} items are too large to be one list: {error}"
        ) from error


async def load_last_failure(tx: Connection, fan_out: FanOutRow) -> dict[str, Any]:
    """Returns the failure of the last failed item of the list."""
    failure: dict[str, Any] = decode(
        await tx.fetchval(sql("load_last_failure"), fan_out.execution_id, fan_out.step)
    )
    return failure


async def reopen_fan_out(
    tx: Connection, key: StepKey, numbers: Sequence[int], parallelism: int
) -> FanOutRow | None:
    """Opens a fan-out that had ended, or whose execution had. The items of these numbers are not ended any more.
    Returns None if the fan-out has no row."""
    row = await tx.fetchrow(sql("reopen_fan_out"), *key, numbers, parallelism)
    return None if row is None else FanOutRow(*row)


async def end_unstarted_items(
    tx: Connection, executions: Sequence[int], steps: Sequence[str] | None = None
) -> list[tuple[int, str, bool, int | None, int | None]]:
    """Ends the items that wait for a slot. Returns the execution, the step, whether it is a compensation, and the first
    and last number of each run of consecutive items. Both are None for an item outside a fan-out."""
    return [tuple(row) for row in await tx.fetch(sql("end_unstarted_items"), executions, steps)]


async def find_free_slots(tx: Connection, limit: int) -> list[int]:
    """Finds executions in which a retry is due and a slot is free."""
    return [row["execution_id"] for row in await tx.fetch(sql("find_free_slots"), limit)]


class FanOutItems(NamedTuple):
    """The numbers of a fan-out's items: all, ended, and the live ones by state."""

    total: int
    ended: int
    failed: int
    closed: bool
    live: dict[str, int]


async def count_items(tx: Connection, execution_id: int) -> dict[str, FanOutItems]:
    rows = await tx.fetch(sql("count_items"), execution_id)
    return {
        row["step"]: FanOutItems(
            row["total"], row["ended"], row["failed"], row["closed"], decode(row["live"])
        )
        for row in rows
    }


async def list_items(
    tx: Connection,
    execution_id: int,
    step: str,
    *,
    states: Sequence[str] | None,
    after: int,
    limit: int,
    max_attempts: int | None,
    most: int,
) -> list[ItemInfo]:
    """Returns the items of a fan-out, live and ended. `max_attempts` is the limit of the step, for items that have no
    limit yet.

    Once the results have `most` bytes together, `left_out` replaces further large ones, but never the first.
    """
    stored = None if states is None else ["leased" if name == "running" else name for name in states]
    rows = await tx.fetch(sql("list_items"), execution_id, step, after, stored, limit, most)
    return [_item(row, max_attempts) async for row in Sliced(rows)]


async def count_strip(
    tx: Connection, execution_id: int, step: str, ranges: int
) -> list[tuple[int, str, int]]:
    """Counts the items that have a row: returns the range, the state and the number."""
    rows = await tx.fetch(sql("count_strip"), execution_id, step, ranges)
    return [(row["range"], row["state"], row["n"]) for row in rows]


def _item(row: Any, max_attempts: int | None) -> ItemInfo:
    number, size = row["item_no"], row["result_size"]
    alone = f"ask for it alone: GET .../items?after={number - 1}&limit=1"
    return ItemInfo(
        item=number,
        status="running" if row["state"] == "leased" else row["state"],
        attempt=row["attempt"],
        max_attempts=row["max_attempts"] or max_attempts,
        result=decode(row["result"]) if size is None else left_out(size, alone),
        failure=decode(row["failure"]),
        available_at=timestamp(row["available_at"]),
        last_error=row["last_error"],
        lost_by=decode(row["lost_by"]),
        worker=row["worker"],
        waiting=awaited(row["awaiting"], row["child"], timestamp(row["until"])),
    )


@dataclass(frozen=True, slots=True)
class CountedFanOut:
    """The numbers of a fan-out counted from its rows, whatever its counters say."""

    live: frozenset[int]
    ended: frozenset[int]
    failed: int
    attempts: int
    placed: int


@dataclass(frozen=True, slots=True)
class LostItem:
    """An item whose row is gone, as the log records it."""

    number: int | None
    element: Any
    created_at: datetime
    available_at: datetime
    attempt: int = 0
    ledger: dict[str, Any] | None = None
    lost_worker: str | None = None
    previous: Any = None
    vary: str | None = None
    awaited: tuple[str, datetime | None] | None = None
    """What the item waited for without a worker, and until when at most."""
    held_until: datetime | None = None
    suspect: bool = False
    key: str | None = None
    """Its concurrency key, which it shares with other items."""
    id: int | None = None
    """Its former id, if the log has it."""
    started_at: datetime | None = None
    """When its current attempt began, if that is now."""
    policy: dict[str, Any] | None = None
    """The retry policy that an operator gave it."""
    last_error: str | None = None


_KEPT = (
    "attempt",
    "available_at",
    "created_at",
    "lost_worker",
    "key",
    "suspect",
    "id",
    "started_at",
    "last_error",
)
_KEPT_AS_JSON = ("element", "ledger", "previous", "policy")
"""The attributes of a lost item that its new row gets as they are."""


async def find_broken_fan_outs(tx: Connection) -> list[StepKey]:
    return [(row["execution_id"], row["step"]) for row in await tx.fetch(sql("find_broken_fan_outs"))]


async def count_fan_out_rows(tx: Connection, key: StepKey) -> CountedFanOut:
    row = await tx.fetchrow(sql("count_fan_out_rows"), *key)
    return CountedFanOut(
        frozenset(row["live"]), frozenset(row["ended"]), row["failed"], row["attempts"], row["placed"]
    )


@dataclass(frozen=True, slots=True)
class LostResult:
    """Is the end of an item whose result is gone, as the log records it."""

    number: int
    state: str
    attempts: int
    result: Any
    failure: dict[str, Any] | None
    element: Any = None
    """The element of the list. It is kept if a compensation may need it."""


async def restore_fan_out(tx: Connection, fan_out: FanOutRow, queue_ttl: float | None) -> None:
    """Inserts the row of a fan-out if it is missing."""
    key = (fan_out.execution_id, fan_out.step)
    await tx.execute(
        sql("restore_fan_out"), *key, fan_out.total, fan_out.tolerated, fan_out.parallelism, queue_ttl
    )


async def restore_item_results(tx: Connection, key: StepKey, lost: Sequence[LostResult]) -> None:
    texts = ([encoded(value) for value in one] for one in attributes(lost, "result", "failure", "element"))
    await tx.execute(
        sql("restore_item_results"), *key, *attributes(lost, "number", "state", "attempts"), *texts
    )


async def restore_items(
    tx: Connection, item: NewItem, lost: Sequence[LostItem], *, all_have_slots: bool = True
) -> None:
    """Inserts lost items. They are like `item`, except for the attempts that each has used."""
    values = new_item_values(item) | {
        "all_have_slots": all_have_slots,
        "item_no": [one.number for one in lost],
        "item_vary": [one.vary if one.attempt else item.vary for one in lost],
        "item_awaiting": [one.awaited[0] if one.awaited is not None else None for one in lost],
        "item_until": [one.awaited[1] if one.awaited is not None else one.held_until for one in lost],
        **{f"item_{name}": [getattr(one, name) for one in lost] for name in _KEPT},
        **{f"item_{name}": [encoded(getattr(one, name)) for one in lost] for name in _KEPT_AS_JSON},
    }
    text, arguments = named("restore_items").fill(values)
    await tx.execute(text, *arguments)
