"""Reads and writes the executions that were submitted to start later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from tenax.store.connect import Connection
from tenax.store.statements import sql


async def insert_delayed(tx: Connection, starts: Mapping[int, datetime]) -> None:
    """Notes when each of these executions starts."""
    await tx.execute(sql("insert_delayed_starts"), list(starts), list(starts.values()))


async def find_due_starts(tx: Connection, most: int) -> list[tuple[int, str]]:
    """Finds executions whose start is due. Returns their ids and their workflows."""
    return [(row["id"], row["workflow"]) for row in await tx.fetch(sql("find_due_starts"), most)]


async def end_delays(tx: Connection, executions: Sequence[int]) -> None:
    """Ends the delays of those of these executions that have one: their first items are due now, and their times count
    from now."""
    await tx.execute(sql("end_delays"), executions)
