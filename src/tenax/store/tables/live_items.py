"""Locks live work items, loads their inputs, pauses them, and extends their leases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from tenax.policy.plan import Plan
from tenax.policy.queued_action import SERVER_QUEUE
from tenax.store.array_params import column, lines
from tenax.store.connect import Connection
from tenax.store.dispatch.claims import LeaseTerms
from tenax.store.rows import (
    ExecutionRow,
    ItemRow,
    OpenItem,
    ServerItem,
)
from tenax.store.statements import named, sql
from tenax.store.time_slices import Sliced


async def lock_executions(
    tx: Connection, ids: Iterable[int]
) -> tuple[dict[int, ExecutionRow], datetime | None]:
    """Locks the executions in the order of their ids, and returns them with the time at which all were locked."""
    rows = await tx.fetch(sql("lock_executions"), sorted(set(ids)))
    executions = {row["id"]: ExecutionRow(*tuple(row)[:-1]) for row in rows}
    return executions, rows[-1]["now"] if rows else None


async def load_inputs(tx: Connection, ids: Sequence[int]) -> dict[int, str]:
    """Loads the inputs of executions. Executions without inputs are left out."""
    return {row["id"]: row["input"] for row in await tx.fetch(sql("load_inputs"), ids)}


async def load_small_inputs(tx: Connection, ids: Sequence[int], most: int) -> dict[int, str | None]:
    """Loads the inputs of executions, without those of more than `most` bytes. None means that the execution
    has none."""
    return {row["id"]: row["input"] for row in await tx.fetch(sql("load_small_inputs"), ids, most)}


async def load_leased_items(tx: Connection, items: Sequence[int], tokens: Sequence[str]) -> list[ItemRow]:
    rows = await tx.fetch(sql("load_leased_items"), column(items), lines(tokens))
    return [ItemRow(*row) for row in rows]


async def lock_open_items(
    tx: Connection, executions: Sequence[int], *, running_too: bool, steps: Sequence[str] | None = None
) -> list[OpenItem]:
    """Locks started items that only wait, or with `running_too` also those that run. `steps` restricts them to some
    steps."""
    rows = await tx.fetch(sql("lock_open_items"), executions, running_too, steps)
    return [OpenItem(*row) async for row in Sliced(rows)]


async def lock_items(tx: Connection, items: Sequence[int]) -> list[ItemRow]:
    return [ItemRow(*row) for row in await tx.fetch(sql("lock_items"), items)]


async def lock_accepted_items(
    tx: Connection, execution_id: int, awaiting: str, *, step: str | None = None, item: int | None = None
) -> list[ItemRow]:
    """Locks the items that wait for this signal, approval or callback, the longest waiting first."""
    rows = await tx.fetch(sql("lock_accepted_items"), execution_id, awaiting, step, item)
    return [ItemRow(*row) for row in rows]


async def find_awaited_children(tx: Connection, execution_id: int) -> list[int]:
    return [row["id"] for row in await tx.fetch(sql("find_awaited_children"), execution_id)]


async def find_server_items(
    tx: Connection, limit: int, but: Sequence[int], but_of: Sequence[int]
) -> list[tuple[int, int]]:
    """Finds ready items that the server itself carries out, with their executions: all but these items, and but those
    of these executions."""
    rows = await tx.fetch(sql("find_server_items"), limit, SERVER_QUEUE, but, but_of)
    return [(row["id"], row["execution_id"]) for row in rows]


async def lock_server_items(tx: Connection, items: Sequence[int]) -> list[ServerItem]:
    return [ServerItem(*row) for row in await tx.fetch(sql("lock_server_items"), items)]


async def pause_items(
    tx: Connection, executions: Sequence[int], plans: Mapping[int, Plan], *, paused: bool
) -> None:
    """Pauses the items of executions, or resumes them. `plans` has the plans of the executions by id."""
    timed = [
        (plan_id, name, compensates, action.step.queue_ttl)
        for plan_id, plan in plans.items()
        for name, planned in plan.steps.items()
        for compensates, action in ((False, planned), (True, planned.compensation))
        if action is not None and action.step.queue_ttl is not None
    ]
    values = {
        "executions": executions,
        "paused": paused,
        "action_plan": [plan_id for plan_id, _, _, _ in timed],
        "action_step": [step for _, step, _, _ in timed],
        "action_compensates": [compensates for _, _, compensates, _ in timed],
        "action_queue_ttl": [queue_ttl for _, _, _, queue_ttl in timed],
    }
    text, arguments = named("pause_items").fill(values)
    await tx.execute(text, *arguments)


async def find_leases_of_grants(
    tx: Connection, grants: Sequence[str], worker: str
) -> list[tuple[int, int, str]]:
    rows = await tx.fetch(sql("find_leases_of_grants"), grants, worker)
    return [(row["id"], row["execution_id"], str(row["lease_token"])) for row in rows]


async def extend_leases(
    tx: Connection, items: Sequence[int], tokens: Sequence[str], terms: LeaseTerms
) -> set[tuple[int, str]]:
    """Extends the leases that the worker still holds. Returns their items and tokens."""
    rows = await tx.fetch(sql("extend_leases"), items, tokens, terms.lease, terms.grace)
    positions = [row["place"] - 1 for row in rows]
    return {(items[n], tokens[n]) for n in positions}
