"""Stores the usage that running attempts report, and finds trees that have spent too much with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tenax.model.attempt.usage import bounded_cost, bounded_tokens
from tenax.model.wire import HeldUsage
from tenax.store.connect import Connection
from tenax.store.statements import sql


@dataclass(frozen=True, slots=True)
class OverspentTree:
    """Is an open execution whose tree has used more than its budget."""

    execution_id: int
    cost_usd: float | None
    tokens: int | None
    spent_usd: float
    spent_tokens: int
    running_usd: float
    running_tokens: int
    exceeded_at: datetime | None


@dataclass(frozen=True, slots=True)
class ToldItem:
    """Is a leased item, with the usage that its attempt has reported."""

    id: int
    execution_id: int
    plan_id: int
    step: str
    ledger: str | None
    token: str
    cost_usd: float | None
    tokens: int | None


async def find_overspent_trees(tx: Connection, but: Sequence[int]) -> list[OverspentTree]:
    return [OverspentTree(*row) for row in await tx.fetch(sql("find_overspent_trees"), but)]


async def note_usage(tx: Connection, told: Sequence[HeldUsage]) -> None:
    """Stores what running attempts have used so far."""
    latest = {one.item_id: one for one in told}.values()
    await tx.execute(
        sql("note_usage"),
        [one.item_id for one in latest],
        [one.token for one in latest],
        [None if one.cost_usd is None else bounded_cost(one.cost_usd) for one in latest],
        [None if one.tokens is None else bounded_tokens(one.tokens) for one in latest],
    )


async def find_told_items(tx: Connection, but: Sequence[int], after: int, limit: int) -> list[ToldItem]:
    """Finds the next leased items, with ids above `after`, whose attempts have reported usage."""
    return [ToldItem(*row) for row in await tx.fetch(sql("find_told_items"), but, after, limit)]


async def forget_usage(tx: Connection) -> None:
    await tx.execute(sql("forget_usage"))
