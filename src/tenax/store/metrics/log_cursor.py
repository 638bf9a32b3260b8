"""Reads the part of the log that is not counted yet, and stores how far it is counted."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import asyncpg

from tenax.store.connect import Connection
from tenax.store.statements import sql


class Cursor(NamedTuple):
    """Says how far the log is counted: all transactions before `counted`, except the `open` ones."""

    counted: int
    open: Sequence[int]
    floor: int
    """Rows of the log up to this id are of another cluster, and are not counted again."""
    at: float | None
    """The approximate Unix time up to which the log is counted. None if nothing is counted yet."""


class LogPart(NamedTuple):
    """Holds new rows of the log, as JSON in chunks, and the cursor after them."""

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


async def read_log_rows(tx: Connection, cursor: Cursor, transactions: int, rows: int) -> LogPart:
    """Reads the rows of the next transactions, and of open ones that have committed since. Ends with the transaction in
    which it has found so many rows."""
    row = await tx.fetchrow(
        sql("read_log_rows"), cursor.counted, transactions, list(cursor.open), cursor.floor, rows
    )
    return LogPart(row["chunks"], row["counted"], row["open"], row["newest"], row["now"])


async def find_newest_id(tx: Connection) -> int:
    newest: int = await tx.fetchval(sql("find_newest_id"))
    return newest


async def save_cursor(tx: Connection, cursor: Cursor) -> None:
    await tx.execute(sql("save_cursor"), cursor.counted, list(cursor.open), cursor.floor, cursor.at)


async def list_log_indexes(tx: Connection) -> dict[str, int]:
    """Returns the indexes of the log's partitions by transaction, with the number of full ranges of each."""
    return {row["index"]: row["ranges"] for row in await tx.fetch(sql("list_log_indexes"))}


async def summarize_ranges(tx: Connection, index: str, first: int, end: int) -> bool:
    """Summarizes ranges of a partition's index. Returns False if this role may not do so, or another session does it now."""
    try:
        async with tx.transaction():
            await tx.execute("select set_config('lock_timeout', '100ms', true)")
            await tx.fetchval(sql("summarize_ranges"), index, first, end)
    except (asyncpg.InsufficientPrivilegeError, asyncpg.LockNotAvailableError):
        return False
    return True
