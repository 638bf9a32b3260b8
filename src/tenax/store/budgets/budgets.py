"""Reads and writes the budgets of trees of executions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tenax.model.json_text import decode, encode
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
    """The amount reserved for items that this transaction does not concern."""
    others_tokens: int
    others: int
    reserved: dict[int, Amount] = field(default_factory=dict)
    """The amount reserved for the items of this transaction."""

    @property
    def is_limit(self) -> bool:
        return self.cost_usd is not None or self.tokens is not None


@dataclass(frozen=True, slots=True)
class NewBudget:
    """Is the budget of a new execution in a tree."""

    execution_id: int
    parent: int | None
    workflow: str
    cost_usd: float | None
    tokens: int | None


async def lock_budgets(
    tx: Connection, executions: Sequence[int], items: Sequence[int]
) -> dict[int, BudgetRow]:
    """Locks the budgets of these executions and of those above them, and reads them. `items` are the items of the transaction.
    Their reservations are read by themselves."""
    locked = [row["execution_id"] for row in await tx.fetch(sql("lock_budgets"), sorted(set(executions)))]
    rows = await tx.fetch(sql("load_budgets"), locked, items) if locked else []
    found: dict[int, BudgetRow] = {}
    for row in rows:
        values = list(row)
        values[7] = decode(values[7])
        found[row["execution_id"]] = BudgetRow(*values)
    return found


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


async def get_budgets(tx: Connection, execution_id: int) -> list[Mapping[str, Any]]:
    """Returns the budgets of the trees that an execution belongs to, the outermost first, its own last."""
    return [dict(row) for row in await tx.fetch(sql("get_budget"), execution_id)]


async def spent_by_trees(tx: Connection, executions: Sequence[int]) -> dict[int, Amount]:
    rows = await tx.fetch(sql("spent_by_trees"), executions)
    return {row["execution_id"]: (row["spent_usd"], row["spent_tokens"]) for row in rows}
