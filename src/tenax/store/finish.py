"""The end of executions whose only step succeeded at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tenax.store.connect import Connection
from tenax.store.statements import sql


class Finished(NamedTuple):
    item_id: int
    token: str
    execution_id: int
    result: str
    """Of the execution."""
    head: str
    """The events up to the seconds that the attempt took, which the database knows."""
    tail: str


async def finish_items(tx: Connection, ends: Sequence[Finished]) -> set[int]:
    """The items that are over now. The others are not as they were expected to be, and untouched."""
    rows = await tx.fetch(sql("finish_items"), *(list(column) for column in zip(*ends, strict=True)))
    return {row[0] for row in rows}
