"""Keeps the last progress that running attempts have told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tenax.model.wire import HeldProgress
from tenax.store.array_params import attributes
from tenax.store.connect import Connection
from tenax.store.statements import sql


@dataclass(frozen=True, slots=True)
class ToldProgress:
    """Is the progress of a step, or of its compensation."""

    step: str
    compensates: bool
    fractions: float | None
    """The sum of the fractions that running attempts have told."""
    item_no: int | None
    """The item of the attempt that told last. The next four fields are of this attempt."""
    fraction: float | None
    message: str | None
    started_at: datetime | None
    at: datetime | None
    total: int | None
    """The number of items of an open fan-out, and then of those that have ended."""
    ended: int | None
    began: datetime | None
    now: datetime


async def note_progress(tx: Connection, told: Sequence[HeldProgress]) -> None:
    latest = list({one.item_id: one for one in told}.values())
    await tx.execute(sql("note_progress"), *attributes(latest, "item_id", "token", "fraction", "message"))


async def list_progress(tx: Connection, execution_id: int) -> list[ToldProgress]:
    return [ToldProgress(*row) for row in await tx.fetch(sql("list_progress"), execution_id)]


async def forget_progress(tx: Connection) -> None:
    """Removes the progress of attempts that have ended."""
    await tx.execute(sql("forget_progress"))
