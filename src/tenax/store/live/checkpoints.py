"""Keeps the checkpoints of work items, and gives them to later attempts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tenax.model.wire import HeldCheckpoint
from tenax.store.array_params import attributes
from tenax.store.connect import Connection
from tenax.store.rows import LeasedItem
from tenax.store.statements import sql

NO_ITEM = -1
"""The number that stands for no item, in a step without a fan-out."""


class CheckpointKey(NamedTuple):
    """Is the place of the last checkpoint that was looked at."""

    execution_id: int
    step: str
    item_no: int


NO_CHECKPOINT = CheckpointKey(0, "", NO_ITEM)


async def note_checkpoints(tx: Connection, told: Sequence[HeldCheckpoint]) -> set[str]:
    """Keeps checkpoints of running attempts. Returns the tokens of the leases that are valid."""
    latest = list({one.item_id: one for one in told}.values())
    columns = attributes(latest, "item_id", "token", "number", "value")
    return {row["lease_token"] for row in await tx.fetch(sql("note_checkpoints"), *columns)}


async def load_checkpoints(tx: Connection, items: Sequence[LeasedItem], most: int) -> dict[int, str | None]:
    """Returns the checkpoints of these items by their ids. After `most` bytes the value None stands for a checkpoint."""
    columns = attributes(items, "id", "execution_id", "step")
    numbers = [NO_ITEM if item.item_no is None else item.item_no for item in items]
    undoing = [item.compensates for item in items]
    rows = await tx.fetch(sql("load_checkpoints"), *columns, numbers, undoing, most)
    return {row["id"]: row["value"] for row in rows}


async def reset_checkpoints(
    tx: Connection, execution_id: int, places: Iterable[tuple[str, int | None]]
) -> None:
    """Removes the checkpoints of steps, or of these items of steps, because they start from their beginning."""
    found = list(places)
    steps, numbers = [step for step, _ in found], [number for _, number in found]
    await tx.execute(sql("reset_checkpoints"), execution_id, steps, numbers)


async def forget_checkpoints(tx: Connection, after: CheckpointKey, most: int) -> CheckpointKey:
    """Looks at the next checkpoints, and removes those whose work has succeeded. Returns where to go on."""
    row = await tx.fetchrow(sql("forget_checkpoints"), *after, most)
    return NO_CHECKPOINT if row is None else CheckpointKey(*row)
