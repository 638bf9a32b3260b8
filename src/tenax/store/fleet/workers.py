"""Reads and writes workers: registration, heartbeats, health, and the states that operators set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from tenax.model.changes import Loss, Run
from tenax.model.events import timestamp
from tenax.model.fleet_views import Lease, WorkerEvent
from tenax.model.health import Health, WorkerState
from tenax.model.json_text import decode, encode
from tenax.model.wire import Heartbeat, Registration
from tenax.store.array_params import attributes
from tenax.store.connect import Connection
from tenax.store.statements import sql

BUCKETS = 10
"""Parts of the window in which runs are counted."""
LOG_ROWS_SEARCHED = 5000  # rows of the log that are searched for a worker's events


async def register_worker(tx: Connection, who: Registration, token_id: int | None) -> bool:
    """Registers a worker. `token_id` is the id of the worker's token.

    Returns False, and changes nothing, if the name belongs to another token.
    """
    abilities = (who.version, who.runtimes, who.queues, encode(who.labels), who.slots)
    arguments = (who.worker, *abilities, who.life, who.execution_id, token_id, who.protocol)
    return await tx.fetchval(sql("register_worker"), *arguments) is not None


async def owner_of_worker(tx: Connection, name: str) -> str | None:
    """Returns the name of the token that a worker's name belongs to, or None if the name is free."""
    owner: str | None = await tx.fetchval(sql("owner_of_worker"), name)
    return owner


async def release_worker_name(tx: Connection, name: str) -> bool:
    """Frees a worker's name. Returns False if it was free already."""
    return await tx.fetchval(sql("release_worker_name"), name) is not None


@dataclass(frozen=True, slots=True)
class BeatAnswer:
    """The server's answer to a heartbeat."""

    state: WorkerState
    health: Health
    leave: bool
    superseded: bool
    protocol: int


async def beat_worker(tx: Connection, beat: Heartbeat) -> BeatAnswer | None:
    """Records a heartbeat. Returns None if the worker is unknown."""
    row = await tx.fetchrow(sql("beat_worker"), beat.worker, beat.life, _reported(beat))
    return BeatAnswer(*row) if row is not None else None


async def beat_workers(tx: Connection, beats: Sequence[Heartbeat]) -> dict[str, BeatAnswer]:
    """Records one heartbeat for each worker. A worker that is missing in the answer is unknown, or is locked by another
    transaction."""
    who = attributes(beats, "worker", "life")
    rows = await tx.fetch(sql("beat_workers"), *who, [_reported(beat) for beat in beats])
    return {name: BeatAnswer(*heard) for name, *heard in rows}


def _reported(beat: Heartbeat) -> str | None:
    return encode(asdict(beat.health)) if beat.health is not None else None


async def end_worker(tx: Connection, name: str, life: str | None) -> None:
    """Ends a worker that has said that it is leaving."""
    await tx.execute(sql("end_worker"), name, life)


async def find_leases_of_life(tx: Connection, name: str, life: str, limit: int) -> list[tuple[int, int]]:
    """Returns the items, with their executions, that this life of a worker holds. Returns none if a later life has
    begun."""
    rows = await tx.fetch(sql("find_leases_of_life"), name, life, limit)
    return [(row["id"], row["execution_id"]) for row in rows]


async def find_able_workers(tx: Connection, item_id: int, alive_within: float) -> list[str]:
    return [row["name"] for row in await tx.fetch(sql("find_able_workers"), item_id, alive_within)]


async def find_served_items(tx: Connection, items: Sequence[int], alive_within: float) -> set[int]:
    """Returns those of these items that a live worker is able to run."""
    return {row["id"] for row in await tx.fetch(sql("find_served_items"), items, alive_within)}


async def count_live_workers(tx: Connection, alive_within: float) -> int:
    count: int = await tx.fetchval(sql("count_live_workers"), alive_within)
    return count


async def end_lost_workers(tx: Connection, silent: float, forgotten: float, window: float) -> None:
    await tx.execute(sql("end_lost_workers"), silent, forgotten, window)


async def find_silent_workers(tx: Connection, names: list[str], seconds: float) -> list[str]:
    return [row["name"] for row in await tx.fetch(sql("find_silent_workers"), names, seconds)]


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


async def find_limited_queues(tx: Connection) -> frozenset[str]:
    return frozenset(row["queue"] for row in await tx.fetch(sql("find_limited_queues")))


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


@dataclass(frozen=True, slots=True)
class LockedWorker:
    state: WorkerState
    wanted: WorkerState
    state_actor: str | None
    health: Health


async def lock_worker(tx: Connection, name: str) -> LockedWorker | None:
    row = await tx.fetchrow(sql("lock_worker"), name)
    return LockedWorker(*row) if row is not None else None


async def set_worker_state(
    tx: Connection, name: str, state: WorkerState, *, reason: str | None, actor: str
) -> None:
    await tx.execute(sql("set_worker_state"), name, state, reason, actor)


async def list_worker_names(tx: Connection) -> list[str]:
    return [row["name"] for row in await tx.fetch(sql("list_worker_names"))]


async def list_leases(tx: Connection, name: str, limit: int) -> tuple[list[Lease], int]:
    """Returns the leases of a worker, the oldest first, and their total number."""
    rows = await tx.fetch(sql("list_leases"), name, limit)
    leases = [
        Lease(
            execution_id=row["execution_id"],
            step=row["step"],
            item=row["item_no"],
            attempt=row["attempt"],
            started_at=timestamp(row["started_at"]),
            lease_until=timestamp(row["lease_until"]),
        )
        for row in rows
    ]
    return leases, rows[0]["total"] if rows else 0


async def list_worker_events(tx: Connection, name: str, limit: int) -> list[WorkerEvent]:
    rows = await tx.fetch(sql("list_worker_events"), name, limit, LOG_ROWS_SEARCHED)
    return [WorkerEvent(at=timestamp(row["at"]), type=row["type"], data=decode(row["data"])) for row in rows]


async def log_fleet_events(tx: Connection, events: Sequence[dict[str, Any]]) -> None:
    await tx.execute(sql("log_fleet_events"), [encode([one]) for one in events])


async def find_asked_labels(tx: Connection) -> frozenset[tuple[str, str]]:
    """Returns each label that some work asks for."""
    rows = await tx.fetch(sql("find_asked_labels"))
    return frozenset(pair for row in rows for pair in decode(row["labels"]).items())
