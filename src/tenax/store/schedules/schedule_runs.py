"""Reads and writes what schedules did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from tenax.model.schedule.look import RunReason
from tenax.store.connect import Connection
from tenax.store.statements import sql

KEPT = 500  # runs of a schedule that are kept
RunKind = Literal["started", "skipped", "failed", "paused"]


class NewRun(NamedTuple):
    """Is something that a schedule did, to be recorded."""

    kind: RunKind
    tick: datetime | None = None
    """The tick, or the first of several that were skipped together."""
    until: datetime | None = None
    reason: RunReason | None = None
    note: str | None = None
    execution_id: int | None = None


@dataclass(frozen=True, slots=True)
class StoredRun:
    """Is something that a schedule did, with the state of the execution that it started."""

    id: int
    at: datetime
    kind: RunKind
    tick: datetime | None
    until: datetime | None
    reason: RunReason | None
    note: str | None
    execution_id: int | None
    state: str | None


async def record(tx: Connection, name: str, runs: Sequence[NewRun]) -> None:
    """Records what a schedule did, and forgets the oldest of its runs."""
    if runs:
        columns = [list(column) for column in zip(*runs, strict=True)]
        await tx.execute(sql("insert_schedule_runs"), name, *columns, KEPT)


async def list_runs(tx: Connection, name: str, most: int) -> list[StoredRun]:
    """Lists the newest runs of a schedule, the newest first."""
    return [StoredRun(**row) for row in await tx.fetch(sql("list_schedule_runs"), name, most)]


async def count_failures(tx: Connection, name: str, counted_from: int, most: int) -> int:
    """Returns how many of the newest runs in a row have failed, at most `most`: of those after `counted_from`."""
    failures = 0
    for row in await tx.fetch(sql("list_run_ends"), name, counted_from, most):
        if row["state"] != "failed":
            break
        failures += 1
    return failures


async def is_open(tx: Connection, execution_id: int | None) -> bool:
    """Returns whether an execution has not ended."""
    return execution_id is not None and bool(await tx.fetchval(sql("is_execution_open"), execution_id))
