"""Finds the workers that are able to run work, and what work asks of workers."""

from __future__ import annotations

from collections.abc import Sequence

from tenax.model.json_text import decode
from tenax.store.connect import Connection
from tenax.store.statements import sql


async def find_able_workers(tx: Connection, item_id: int, alive_within: float) -> list[str]:
    return [row["name"] for row in await tx.fetch(sql("find_able_workers"), item_id, alive_within)]


async def find_served_items(tx: Connection, items: Sequence[int], alive_within: float) -> set[int]:
    """Returns those of these items that a live worker is able to run."""
    return {row["id"] for row in await tx.fetch(sql("find_served_items"), items, alive_within)}


async def count_live_workers(tx: Connection, alive_within: float) -> int:
    count: int = await tx.fetchval(sql("count_live_workers"), alive_within)
    return count


async def find_limited_queues(tx: Connection) -> frozenset[str]:
    return frozenset(row["queue"] for row in await tx.fetch(sql("find_limited_queues")))


async def find_asked_labels(tx: Connection) -> frozenset[tuple[str, str]]:
    """Returns each label that some work asks for."""
    rows = await tx.fetch(sql("find_asked_labels"))
    return frozenset(pair for row in rows for pair in decode(row["labels"]).items())
