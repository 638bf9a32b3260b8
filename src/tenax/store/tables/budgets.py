"""Budgets of trees of executions: what they have spent, what is reserved, and what running attempts have told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tenax.model.attempt.usage import bounded_cost, bounded_tokens
from tenax.model.json_text import decode, encode
from tenax.model.wire import HeldUsage
from tenax.store.connect import Connection
from tenax.store.statements import sql

Amount = tuple[float, int]
"""A cost in USD, and a number of tokens."""


@dataclass(slots=True)
class BudgetRow:
    """Is a locked budget. The engine changes it as attempts of the transaction are settled."""

    execution_id: int
    path: Sequence[int]
    workflow: str
    cost_usd: float | None
    tokens: int | None
    spent_usd: float
    spent_tokens: int
    highest: dict[str, list[float]]
    others_usd: float
    """What is reserved for items that this transaction does not concern."""
    others_tokens: int
    others: int
    reserved: dict[int, Amount] = field(default_factory=dict)
    """What is reserved for the items of this transaction."""

    @property
    def is_limit(self) -> bool:
        return self.cost_usd is not None or self.tokens is not None


@dataclass(frozen=True, slots=True)
class Told:
    """Holds what is reserved for an item, by budget, and what its running attempt has told."""

    reserved: Mapping[int, Amount]
    used_usd: float | None
    used_tokens: int | None


@dataclass(frozen=True, slots=True)
class NewBudget:
    """Is the budget of a new execution in a tree."""

    execution_id: int
    parent: int | None
    workflow: str
    cost_usd: float | None
    tokens: int | None


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
    """Is a leased item, with what its attempt has told of its usage."""

    id: int
    execution_id: int
    plan_id: int
    step: str
    ledger: str | None
    token: str
    cost_usd: float | None
    tokens: int | None


async def lock_budgets(
    tx: Connection, executions: Sequence[int], items: Sequence[int]
) -> dict[int, BudgetRow]:
    """Locks the budgets of these executions and of those above them, and reads them. `items` are those of the
    transaction. What is reserved for them is read apart."""
    locked = [row["execution_id"] for row in await tx.fetch(sql("lock_budgets"), sorted(set(executions)))]
    rows = await tx.fetch(sql("load_budgets"), locked, items) if locked else []
    found: dict[int, BudgetRow] = {}
    for row in rows:
        values = list(row)
        values[7] = decode(values[7])
        found[row["execution_id"]] = BudgetRow(*values)
    return found


async def load_told(tx: Connection, items: Sequence[int]) -> dict[int, Told]:
    """Returns what is reserved for these items, and what their running attempts have told."""
    reserved: dict[int, dict[int, Amount]] = {}
    used: dict[int, tuple[float | None, int | None]] = {}
    for row in await tx.fetch(sql("load_reservations"), items):
        own = reserved.setdefault(row["item_id"], {})
        if row["budget"] is not None:
            own[row["budget"]] = row["cost_usd"], row["tokens"]
        used[row["item_id"]] = row["used_usd"], row["used_tokens"]
    return {item_id: Told(own, *used[item_id]) for item_id, own in reserved.items()}


async def insert_budgets(tx: Connection, new: Sequence[NewBudget]) -> None:
    await tx.execute(
        sql("insert_budgets"),
        [one.execution_id for one in new],
        [one.parent for one in new],
        [one.workflow for one in new],
        [one.cost_usd for one in new],
        [one.tokens for one in new],
    )


async def charge_budgets(tx: Connection, charges: Sequence[tuple[int, float, int]]) -> None:
    """Charges amounts to executions and their trees: each with its execution, cost and tokens."""
    await tx.execute(
        sql("charge_budgets"),
        [execution_id for execution_id, _, _ in charges],
        [cost for _, cost, _ in charges],
        [tokens for _, _, tokens in charges],
    )


async def note_highest(tx: Connection, roots: Sequence[BudgetRow]) -> None:
    await tx.execute(
        sql("note_highest"), [root.execution_id for root in roots], [encode(root.highest) for root in roots]
    )


async def note_exceeded(tx: Connection, executions: Sequence[int], now: datetime) -> None:
    await tx.execute(sql("note_exceeded"), executions, now)


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


async def find_told_items(tx: Connection, but: Sequence[int]) -> list[ToldItem]:
    """Finds leased items whose attempts have told of their usage."""
    return [ToldItem(*row) for row in await tx.fetch(sql("find_told_items"), but)]


async def forget_usage(tx: Connection) -> None:
    await tx.execute(sql("forget_usage"))


async def get_budgets(tx: Connection, execution_id: int) -> list[Mapping[str, Any]]:
    """Returns the budgets of the trees that an execution belongs to, the outermost first, its own last."""
    return [dict(row) for row in await tx.fetch(sql("get_budget"), execution_id)]


async def spent_by_trees(tx: Connection, executions: Sequence[int]) -> dict[int, Amount]:
    rows = await tx.fetch(sql("spent_by_trees"), executions)
    return {row["execution_id"]: (row["spent_usd"], row["spent_tokens"]) for row in rows}
