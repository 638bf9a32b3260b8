"""Reads messages to executions. Each is applied under the lock of its receiver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from tenax.model.json_text import decode
from tenax.store.connect import Connection
from tenax.store.statements import sql
from tenax.store.time_slices import Sliced


@dataclass(frozen=True, slots=True)
class Message:
    id: int
    execution_id: int
    kind: Literal["child_ended", "cancel"]
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class EndedChild:
    id: int
    state: str
    result: Any
    failure: dict[str, Any] | None
    parent_step: str
    parent_item_no: int | None
    result_size: int | None = None
    """Bytes of a result that is too large to be read."""


async def take_messages(tx: Connection, limit: int, but: Sequence[int]) -> list[Message]:
    """Takes messages, which stay locked until this transaction ends."""
    rows = await tx.fetch(sql("take_inbox"), limit, but)
    return [Message(row["id"], row["execution_id"], row["kind"], decode(row["body"])) for row in rows]


async def drop_messages(tx: Connection, messages: Sequence[int]) -> None:
    await tx.execute(sql("drop_inbox"), messages)


async def ended_children(tx: Connection, ids: Sequence[int], most: int) -> dict[int, EndedChild]:
    """Returns the ended ones of these children. A result of more than `most` bytes is left out."""
    rows = await tx.fetch(sql("load_ended_children"), ids, most)
    return {
        id_: EndedChild(id_, state, decode(result), decode(failure), step, item_no, size)
        async for id_, state, result, failure, step, item_no, size in Sliced(rows)
    }


async def find_unheard_children(tx: Connection) -> list[int]:
    """Finds children that have ended while their waiting parents were not told."""
    return [row["id"] for row in await tx.fetch(sql("find_unheard_children"))]


async def announce_endings(tx: Connection, children: Sequence[int], now: datetime) -> None:
    await tx.execute(sql("announce_endings"), children, now)
