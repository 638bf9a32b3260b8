"""How the steps of a graph stand."""

from __future__ import annotations

from collections.abc import Sequence

from tenax.store.connect import Connection
from tenax.store.json_text import decode
from tenax.store.rows import StepRow
from tenax.store.statements import sql

StepKey = tuple[int, str]


async def load_steps(tx: Connection, keys: Sequence[StepKey]) -> dict[StepKey, StepRow]:
    """States and counters, without results."""
    rows = await tx.fetch(sql("load_steps"), [key[0] for key in keys], [key[1] for key in keys])
    return {(row["execution_id"], row["step"]): StepRow(*row) for row in rows}


async def load_step_results(tx: Connection, keys: Sequence[StepKey]) -> dict[StepKey, StepRow]:
    rows = await tx.fetch(sql("load_step_results"), [key[0] for key in keys], [key[1] for key in keys])
    return {(row["execution_id"], row["step"]): _ended(row["execution_id"], *row[1:]) for row in rows}


async def ended_steps(tx: Connection, execution_id: int) -> list[StepRow]:
    return [_ended(execution_id, *row) for row in await tx.fetch(sql("get_step_results"), execution_id)]


def _ended(
    execution_id: int,
    step: str,
    state: str,
    attempts: int,
    result: str | None,
    failure: str | None,
    failures: str | None,
) -> StepRow:
    return StepRow(execution_id, step, state, 0, attempts, decode(result), decode(failure), decode(failures))
