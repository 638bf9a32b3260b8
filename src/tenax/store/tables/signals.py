"""Keeps signals until a step waits for them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tenax.model.json_text import decode, encode
from tenax.store.connect import Connection
from tenax.store.statements import sql


@dataclass(frozen=True, slots=True)
class StoredSignal:
    data: Any
    actor: str
    created_at: datetime


async def take_signal(tx: Connection, execution_id: int, name: str, item_id: int) -> StoredSignal | None:
    """Takes the oldest free signal of this name for this item."""
    row = await tx.fetchrow(sql("take_signal"), execution_id, name, item_id)
    return None if row is None else StoredSignal(decode(row["data"]), row["actor"], row["created_at"])


async def insert_signal(
    tx: Connection,
    execution_id: int,
    name: str,
    data: Any,
    *,
    actor: str,
    key: str | None,
    now: datetime,
    taken_by: int | None,
) -> bool:
    """Inserts a signal. Returns False if there was one with this key."""
    text = None if data is None else encode(data)
    arguments = (execution_id, name, text, actor, key, now, taken_by)
    return await tx.fetchval(sql("insert_signal"), *arguments) is not None


async def find_signal(tx: Connection, execution_id: int, key: str) -> tuple[str, int | None] | None:
    """Returns the name of the signal with this key, and the item that took it."""
    row = await tx.fetchrow(sql("find_signal"), execution_id, key)
    return None if row is None else (row["name"], row["taken_by"])
