"""Reserves the prices of attempts in flight, and finds items that wait until they can be paid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tenax.store.budgets.budgets import Amount
from tenax.store.connect import Connection
from tenax.store.statements import sql


@dataclass(frozen=True, slots=True)
class Told:
    """Holds what is reserved for an item, by budget, and the usage that its running attempt has reported."""

    reserved: Mapping[int, Amount]
    used_usd: float | None
    used_tokens: int | None


async def load_told(tx: Connection, items: Sequence[int]) -> dict[int, Told]:
    """Returns what is reserved for these items, and the usage that their running attempts have reported."""
    reserved: dict[int, dict[int, Amount]] = {}
    used: dict[int, tuple[float | None, int | None]] = {}
    for row in await tx.fetch(sql("load_reservations"), items):
        own = reserved.setdefault(row["item_id"], {})
        if row["budget"] is not None:
            own[row["budget"]] = row["cost_usd"], row["tokens"]
        used[row["item_id"]] = row["used_usd"], row["used_tokens"]
    return {item_id: Told(own, *used[item_id]) for item_id, own in reserved.items()}


async def drop_reservations(tx: Connection, items: Sequence[int]) -> None:
    await tx.execute(sql("drop_reservations"), items)


async def insert_reservations(tx: Connection, reserved: Sequence[tuple[int, int, float, int]]) -> None:
    """Reserves amounts: each with its budget, item, cost and tokens."""
    columns: list[list[Any]] = [list(values) for values in zip(*reserved, strict=True)]
    await tx.execute(sql("insert_reservations"), *columns)


async def hold_unpaid(tx: Connection, items: Sequence[int]) -> None:
    await tx.execute(sql("hold_unpaid"), items)


async def find_unpaid_trees(tx: Connection, but: Sequence[int]) -> list[int]:
    return [row["root"] for row in await tx.fetch(sql("find_unpaid_trees"), but)]


async def find_unpaid_items(tx: Connection, root: int, limit: int) -> list[tuple[int, int]]:
    rows = await tx.fetch(sql("find_unpaid_items"), root, limit)
    return [(row["id"], row["execution_id"]) for row in rows]


async def admit_items(tx: Connection, queues: Mapping[int, str]) -> None:
    """Puts items into their own queues."""
    await tx.execute(sql("admit_items"), list(queues), list(queues.values()))
