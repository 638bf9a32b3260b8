"""Reads and writes what operators' actions need beside the journal: executions that are opened again, and the items that they
act on."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from tenax.model.json_text import encode
from tenax.model.policy import Policy
from tenax.store.connect import Connection
from tenax.store.rows import OperatedItem
from tenax.store.statements import sql


@dataclass(frozen=True, slots=True)
class Origin:
    """Names what started an execution: an attempt of its parent, or nothing."""

    id: int
    parent_id: int | None
    parent_step: str | None
    parent_item_no: int | None
    parent_attempt: int | None
    deactivated: bool


async def load_origins(tx: Connection, executions: Sequence[int]) -> dict[int, Origin]:
    return {row["id"]: Origin(*row) for row in await tx.fetch(sql("load_parents"), executions)}


async def lock_operated_items(
    tx: Connection, execution_id: int, step: str | None, numbers: Collection[int] = ()
) -> list[OperatedItem]:
    """Locks the live items of an execution, of a step of it, or those with these numbers."""
    rows = await tx.fetch(sql("lock_operated_items"), execution_id, step, list(numbers) or None)
    return [OperatedItem(*row) for row in rows]


async def reopen_execution(
    tx: Connection, execution_id: int, steps: Sequence[str], failure: str | None, deadline_at: datetime | None
) -> None:
    """Opens an execution again. The rows of these steps go."""
    await tx.execute(sql("reopen_execution"), execution_id, steps, failure, deadline_at)


async def adopt_child(tx: Connection, child: int, attempt: int) -> None:
    """Lets an attempt of the parent's item wait for a child that an earlier attempt had started."""
    await tx.execute(sql("adopt_child"), child, attempt)


async def delete_items(tx: Connection, items: Sequence[int]) -> None:
    """Deletes ended items before anything looks for items that wait. Their results must be written before."""
    await tx.execute(sql("delete_items"), items)


async def set_policies(tx: Connection, items: Sequence[int], policies: Sequence[Policy]) -> None:
    """Gives each item a retry policy of its own. A policy that several items share is sent once."""
    known = {id(policy): policy for policy in policies}
    places = {number: place for place, number in enumerate(known, 1)}
    bodies = [encode(policy.as_dict()) for policy in known.values()]
    await tx.execute(sql("set_policies"), items, [places[id(policy)] for policy in policies], bodies)


async def restart_clocks(tx: Connection, items: Sequence[int], now: datetime) -> None:
    """Lets the time of `give_up_after` of these items start anew."""
    await tx.execute(sql("restart_clocks"), items, now)
