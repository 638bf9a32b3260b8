"""Reads the log for the roll-ups, and writes what was counted of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import asyncpg

from tenax.model.json_text import encode
from tenax.model.metrics.counts import Counts, ItemKey, RetryUnderway
from tenax.store.array_params import columns
from tenax.store.connect import Connection
from tenax.store.statements import sql

Totals = Mapping[tuple[str, tuple[str, ...]], float]
"""What is added to the totals, by metric and labels."""


class Cursor(NamedTuple):
    """How far the log is counted: all transactions before `counted`, except the `open` ones."""

    counted: int
    open: Sequence[int]
    floor: int
    """Rows of the log up to this id are of another cluster, and are not counted again."""
    at: float | None
    """The Unix time up to which about the log is counted. None if nothing is counted yet."""


class LogPart(NamedTuple):
    """New rows of the log, as JSON in chunks, and the cursor after them."""

    chunks: Sequence[str]
    counted: int
    open: Sequence[int]
    newest: int
    """The number of the next transaction to begin, when the rows were read."""
    now: datetime


async def lock_cursor(tx: Connection) -> Cursor:
    await tx.execute(sql("follow_log_index"))
    row = await tx.fetchrow(sql("lock_cursor"))
    at = row["counted_at"]
    return Cursor(row["counted"], row["open"], row["floor"], at.timestamp() if at is not None else None)


async def read_log_rows(tx: Connection, cursor: Cursor, transactions: int) -> LogPart:
    """Reads the rows of the next transactions, and of open ones that have committed since."""
    row = await tx.fetchrow(
        sql("read_log_rows"), cursor.counted, transactions, list(cursor.open), cursor.floor
    )
    return LogPart(row["chunks"], row["counted"], row["open"], row["newest"], row["now"])


async def find_newest_id(tx: Connection) -> int:
    newest: int = await tx.fetchval(sql("find_newest_id"))
    return newest


async def save_cursor(tx: Connection, cursor: Cursor) -> None:
    await tx.execute(sql("save_cursor"), cursor.counted, list(cursor.open), cursor.floor, cursor.at)


async def name_workflows(tx: Connection, executions: Iterable[int]) -> dict[int, str]:
    return {row["id"]: row["name"] for row in await tx.fetch(sql("name_workflows"), list(executions))}


async def load_retries_underway(tx: Connection, items: Iterable[ItemKey]) -> dict[ItemKey, RetryUnderway]:
    keys = list(items)
    if not keys:
        return {}
    rows = await tx.fetch(sql("load_retries_underway"), *columns(*_item_columns(keys)))
    return {
        ItemKey(row["execution_id"], row["step"], row["item_no"], row["compensates"]): RetryUnderway(
            row["attempt"], row["class"], row["reason"], row["delay"], None if row["due"] is None else float(row["due"]), row["worker"]
        )
        for row in rows
    }  # fmt: skip


async def write_retries_underway(
    tx: Connection, before: Mapping[ItemKey, RetryUnderway], after: Mapping[ItemKey, RetryUnderway]
) -> None:
    """Writes what has changed of the retries under way."""
    gone = [key for key in before if key not in after]
    changed = [(key, retry) for key, retry in after.items() if before.get(key) != retry]
    if gone:
        await tx.execute(sql("drop_retries_underway"), *columns(*_item_columns(gone)))
    if changed:
        retries = [retry for _, retry in changed]
        await tx.execute(
            sql("save_retries_underway"),
            *columns(
                *_item_columns([key for key, _ in changed]),
                [one.attempt for one in retries],
                [one.class_ for one in retries],
                [one.reason for one in retries],
                [one.delay for one in retries],
                [one.due for one in retries],
                [one.worker for one in retries],
            ),
        )


def _item_columns(keys: Sequence[ItemKey]) -> list[list[object]]:
    return [list(column) for column in zip(*keys, strict=True)]


async def add_counts(tx: Connection, counts: Counts) -> None:
    """Adds counts to those of their minutes."""
    if counts.attempts:
        sums = counts.attempts.values()
        keys = zip(*counts.attempts, strict=True)
        rows = [*map(list, keys), [s.n for s in sums], [s.seconds for s in sums], [s.waited for s in sums],
                [s.retried for s in sums], [s.given_up for s in sums]]  # fmt: skip
        await tx.execute(sql("add_attempts"), *columns(*rows))
    if counts.workers:
        workers = counts.workers.values()
        await tx.execute(
            sql("add_workers"),
            *columns(
                *map(list, zip(*counts.workers, strict=True)),
                [one.started for one in workers],
                [one.retries for one in workers],
                [one.failed for one in workers],
                [one.recovered for one in workers],
                [one.seconds for one in workers],
                [one.waited for one in workers],
            ),
        )
    if counts.events:
        keys = zip(*counts.events, strict=True)
        await tx.execute(sql("add_events"), *columns(*map(list, keys), list(counts.events.values())))
    if counts.lateness:
        late = counts.lateness.values()
        keys = zip(*counts.lateness, strict=True)
        rows = [*map(list, keys), [one.n for one in late], [one.seconds for one in late]]
        await tx.execute(sql("add_lateness"), *columns(*rows))


async def add_totals(tx: Connection, totals: Totals) -> None:
    if totals:
        metrics, labels = zip(*totals, strict=True)
        texts = [encode(list(one)) for one in labels]
        await tx.execute(sql("add_totals"), *columns(list(metrics), texts, list(totals.values())))


async def list_labels(tx: Connection) -> set[tuple[str, str]]:
    return {(row["label"], row["value"]) for row in await tx.fetch(sql("list_labels"))}


async def add_labels(tx: Connection, labels: Sequence[tuple[str, str]]) -> None:
    names, values = zip(*labels, strict=True)
    await tx.execute(sql("add_labels"), list(names), list(values))


async def prune_minutes(tx: Connection, seconds: float, most: int) -> int:
    """Deletes minutes that are older. Returns how many rows were deleted, at most `most` of each table."""
    deleted: int = await tx.fetchval(sql("prune_minutes"), seconds, most)
    return deleted


async def list_log_indexes(tx: Connection) -> dict[str, int]:
    """Returns the indexes of the log's partitions by transaction, with the number of full ranges of each."""
    return {row["index"]: row["ranges"] for row in await tx.fetch(sql("list_log_indexes"))}


async def summarize_ranges(tx: Connection, index: str, first: int, end: int) -> bool:
    """Summarizes ranges of a partition's index. Returns False if this role may not, or another session is at it."""
    try:
        async with tx.transaction():
            await tx.execute("select set_config('lock_timeout', '100ms', true)")
            await tx.fetchval(sql("summarize_ranges"), index, first, end)
    except (asyncpg.InsufficientPrivilegeError, asyncpg.LockNotAvailableError):
        return False
    return True
