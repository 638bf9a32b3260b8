"""Reads and writes what the health of workers is judged by: their runs, their losses, and the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tenax.model.changes import Loss, Run
from tenax.model.fleet.health import Health, WorkerState
from tenax.model.json_text import decode, encode
from tenax.store.array_params import attributes
from tenax.store.connect import Connection
from tenax.store.statements import sql

BUCKETS = 10
"""Parts of the window in which runs are counted."""


@dataclass(slots=True)
class WorkerStanding:
    """The columns of a worker that decide whether it gets work."""

    name: str
    life: str | None
    state: WorkerState
    health: Health
    probe: bool
    """True if the worker is unhealthy, and the time for its probe has come."""
    depth: int
    protocol: int


async def load_standings(tx: Connection) -> dict[str, WorkerStanding]:
    return {row["name"]: WorkerStanding(*row) for row in await tx.fetch(sql("load_standings"))}


@dataclass(slots=True)
class RunTally:
    """The results of attempts on one worker."""

    runs: int = 0
    failures: int = 0
    tail: int = 0
    """Failures since the last success."""
    succeeded: bool = False

    def then(self, later: RunTally) -> RunTally:
        """Returns the sum of this tally and a later one."""
        return RunTally(
            self.runs + later.runs,
            self.failures + later.failures,
            later.tail if later.succeeded else self.tail + later.tail,
            self.succeeded or later.succeeded,
        )

    def add(self, *, failed: bool) -> None:
        self.runs += 1
        self.failures += failed
        self.tail = self.tail + 1 if failed else 0
        self.succeeded |= not failed


async def note_runs(tx: Connection, tallies: Mapping[str, RunTally], window: float) -> None:
    found = attributes(list(tallies.values()), "runs", "failures", "tail", "succeeded")
    await tx.execute(sql("note_runs"), list(tallies), *found, window / BUCKETS)


async def note_losses(tx: Connection, lost: Sequence[Loss]) -> None:
    found = attributes(lost, "worker", "item_id", "silent_since", "version")
    await tx.execute(sql("note_losses"), *found)


async def return_items(tx: Connection, ended: Mapping[str, Sequence[Run]]) -> None:
    """Corrects losses. Items that an earlier life of a worker has ended after all do not count as lost. There is rarely such a worker."""
    counted = await tx.fetch(sql("find_workers_counted_lost"), list(ended))
    if runs := [run for row in counted for run in ended[row["worker"]]]:
        await tx.execute(sql("return_items"), *attributes(runs, "worker", "item_id", "started_at"))


async def pardon_workers(tx: Connection, items: Sequence[int]) -> None:
    await tx.execute(sql("pardon_workers"), items)


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """All columns by which the health of a worker is judged."""

    name: str
    runtimes: list[str]
    queues: list[str]
    labels: dict[str, str]
    slots: int
    state: WorkerState
    version: str | None
    health: Health
    health_column: str | None
    health_since: datetime | None
    state_reason: str | None
    state_actor: str | None
    state_since: datetime | None
    registered_at: datetime
    last_heartbeat: datetime
    serves: int | None
    """The only execution whose items it takes, with those of its children."""
    reported: dict[str, Any] | None
    report_is_news: bool
    """True if the report came after the last success that the server saw."""
    probe_at: datetime | None
    probed_at: datetime | None
    recovering_since: datetime | None
    last_success_at: datetime | None
    heartbeat_age: float
    """Seconds since the last heartbeat, without those in which no server was alive."""
    streak: int
    """Failures and losses since the last success."""
    last_failure_age: float | None
    depth: int
    given_work: bool
    """True if an item runs that the worker got after its health last changed. For an unhealthy worker this is its probe."""
    runs: int
    failures: int
    """Runs and failures in the window, with losses."""
    losses: int
    now: datetime


async def load_workers(
    tx: Connection, window: float, lease: float, *, name: str | None = None, gone: bool = False
) -> list[WorkerRow]:
    rows = await tx.fetch(sql("load_workers"), name, gone, window, lease)
    return [
        WorkerRow(**{**row, "labels": decode(row["labels"]), "reported": decode(row["reported"])})
        for row in rows
    ]


async def is_fleet_sound(tx: Connection, silence: float, lease: float, window: float) -> bool:
    """Returns whether nothing speaks against any live worker."""
    return bool(await tx.fetchval(sql("is_fleet_sound"), silence, lease, window))


@dataclass(frozen=True, slots=True)
class NewHealth:
    name: str
    health: Health
    column: str | None
    probe_at: datetime | None
    recovering_since: datetime | None


async def change_health(
    tx: Connection, changes: Sequence[NewHealth], events: Sequence[dict[str, Any]]
) -> None:
    found = attributes(changes, "name", "health", "column", "probe_at", "recovering_since")
    await tx.execute(sql("change_health"), *found, [encode([one]) for one in events])


async def end_streaks(tx: Connection, names: Sequence[str]) -> None:
    """Sets the failures in a row of these workers to zero."""
    await tx.execute(sql("end_streaks"), names)


async def clear_workers(tx: Connection, names: Sequence[str]) -> None:
    await tx.execute(sql("clear_workers"), names)
