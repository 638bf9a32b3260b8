"""Reads and writes schedules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tenax.model.json_text import decode, encode
from tenax.model.schedule.look import Waiting
from tenax.model.schedule.moments import moment_text
from tenax.model.schedule.schedule import Schedule
from tenax.store.connect import Connection
from tenax.store.statements import sql

FAILURES_COUNTED = 10
"""The failures in a row that are counted for people, where no limit is declared."""


@dataclass(frozen=True, slots=True)
class ScheduleRow:
    """Is a schedule as it is stored, and the database's time."""

    name: str
    workflow: str
    schedule: Schedule
    declared: bool
    """True if the file of the workflow declares it."""
    next_tick: datetime | None
    look_at: datetime | None
    waiting: tuple[Waiting, ...]
    last_execution: int | None
    counted_from: int
    paused_by: str | None
    paused_why: str | None
    paused_at: datetime | None
    now: datetime


@dataclass(frozen=True, slots=True)
class ListedSchedule:
    """Is a schedule with the state of the last execution that it started."""

    row: ScheduleRow
    created_at: datetime
    last_state: str | None
    last_started_at: datetime | None
    failures: int
    """How many of its newest runs in a row have failed."""


async def find_due(tx: Connection, most: int) -> list[tuple[str, str]]:
    """Finds schedules to look at now. Returns their names and their workflows."""
    return [(row["name"], row["workflow"]) for row in await tx.fetch(sql("find_due_schedules"), most)]


async def lock_due(tx: Connection, name: str) -> ScheduleRow | None:
    """Locks a schedule that is due. Returns None if another server deals with it, or has."""
    row = await tx.fetchrow(sql("lock_due_schedule"), name)
    return None if row is None else _row(row)


async def lock(tx: Connection, name: str) -> ScheduleRow | None:
    """Locks a schedule. Returns None if there is none of this name."""
    row = await tx.fetchrow(sql("lock_schedule"), name)
    return None if row is None else _row(row)


async def save(
    tx: Connection,
    name: str,
    *,
    next_tick: datetime | None,
    look_at: datetime | None,
    waiting: Sequence[Waiting],
    last_execution: int | None,
) -> None:
    """Writes what a look at a schedule has changed."""
    texts = encode([[moment_text(one.tick), one.origin] for one in waiting])
    await tx.execute(sql("save_schedule"), name, next_tick, look_at, texts, last_execution)


async def put(
    tx: Connection,
    name: str,
    workflow: str,
    schedule: Schedule,
    *,
    declared: bool,
    next_tick: datetime | None,
    look_at: datetime | None,
) -> bool:
    """Creates a schedule, or replaces what is declared of it. Returns whether it is new."""
    spec = encode(schedule.as_dict())
    created: bool = await tx.fetchval(sql("put_schedule"), name, workflow, spec, declared, next_tick, look_at)
    return created


async def pause(tx: Connection, name: str, actor: str, reason: str | None) -> None:
    await tx.execute(sql("pause_schedule"), name, actor, reason)


async def resume(tx: Connection, name: str, next_tick: datetime | None, look_at: datetime | None) -> None:
    await tx.execute(sql("resume_schedule"), name, next_tick, look_at)


async def set_last_execution(tx: Connection, name: str, execution_id: int) -> None:
    await tx.execute(sql("set_last_execution"), name, execution_id)


async def delete(tx: Connection, name: str) -> bool:
    """Deletes a schedule and its runs. Returns False if there is none of this name."""
    return await tx.fetchval(sql("delete_schedule"), name) is not None


async def count(tx: Connection) -> int:
    number: int = await tx.fetchval(sql("count_schedules"))
    return number


async def list_schedules(tx: Connection, name: str | None = None) -> list[ListedSchedule]:
    """Lists the schedules by name, or the one of this name."""
    return [
        ListedSchedule(
            _row(row), row["created_at"], row["last_state"], row["last_started_at"], row["failures"]
        )
        for row in await tx.fetch(sql("list_schedules"), name, FAILURES_COUNTED)
    ]


def _row(row: Any) -> ScheduleRow:
    return ScheduleRow(
        name=row["name"],
        workflow=row["workflow"],
        schedule=Schedule.from_dict(decode(row["spec"])),
        declared=row["declared"],
        next_tick=row["next_tick"],
        look_at=row["look_at"],
        waiting=tuple(
            Waiting(datetime.fromisoformat(tick), origin) for tick, origin in decode(row["waiting"])
        ),
        last_execution=row["last_execution"],
        counted_from=row["counted_from"],
        paused_by=row["paused_by"],
        paused_why=row["paused_why"],
        paused_at=row["paused_at"],
        now=row["now"],
    )
