"""Keeps the submissions by `tenax.submit` that could not be started, for a while."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tenax.store.connect import Connection
from tenax.store.statements import sql


class Rejection(NamedTuple):
    """Says why a requested submission cannot be started."""

    execution_id: int
    workflow: str | None
    key: str | None
    reason: str
    message: str


class Fate(NamedTuple):
    """Tells what became of a submission. Both fields are None while it waits for a server."""

    reason: str | None
    message: str | None


async def reject_submissions(tx: Connection, rejections: Sequence[Rejection]) -> None:
    """Keeps rejected requests. The caller deletes the requests."""
    reasons, messages = [one.reason for one in rejections], [one.message for one in rejections]
    await tx.execute(sql("reject_submissions"), [one.execution_id for one in rejections], reasons, messages)


async def find_fate(tx: Connection, execution_id: int) -> Fate | None:
    """Returns what became of the submission that was given this id. Returns None if there was none."""
    row = await tx.fetchrow(sql("find_fate"), execution_id)
    return None if row is None else Fate(*row)


async def forget_rejected(tx: Connection, seconds: float) -> None:
    """Deletes the submissions that were rejected longer ago than this."""
    await tx.execute(sql("forget_rejected_submissions"), seconds)
