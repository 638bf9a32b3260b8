"""Reads and writes workers: registration, heartbeats, and the states that operators set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tenax.model.events import timestamp
from tenax.model.events.audit import entry_of
from tenax.model.fleet.health import Health, WorkerState
from tenax.model.fleet.views import Lease, WorkerEvent
from tenax.model.json_text import decode, encode
from tenax.model.wire import Heartbeat, Registration
from tenax.store import audit
from tenax.store.array_params import attributes
from tenax.store.connect import Connection
from tenax.store.statements import sql

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


async def end_lost_workers(tx: Connection, silent: float, forgotten: float, window: float) -> None:
    await tx.execute(sql("end_lost_workers"), silent, forgotten, window)


async def find_silent_workers(tx: Connection, names: list[str], seconds: float) -> list[str]:
    return [row["name"] for row in await tx.fetch(sql("find_silent_workers"), names, seconds)]


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


async def log_action(tx: Connection, action: dict[str, Any], **more: Any) -> None:
    """Logs an event `operator_action` that belongs to no execution, and audits it with `more` data."""
    await log_fleet_events(tx, [action])
    await audit.insert_entries(tx, [entry_of(action, **more)])
