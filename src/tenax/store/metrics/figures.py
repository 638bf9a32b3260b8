"""Reads the counts of the log."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

from tenax.store.connect import Connection
from tenax.store.statements import sql

Row = Any


async def read_totals(tx: Connection) -> dict[str, dict[tuple[str, ...], float]]:
    """Returns the totals by metric and labels."""
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for row in await tx.fetch(sql("read_totals")):
        found.setdefault(row["metric"], {})[tuple(row["labels"])] = row["n"]
    return found


async def sum_window(tx: Connection, seconds: float) -> Row:
    return await tx.fetchrow(sql("sum_window"), seconds)


async def sum_lateness(tx: Connection, seconds: float) -> dict[int, int]:
    """Returns the number of retries in each bucket of lateness."""
    return {row["bucket"]: row["n"] for row in await tx.fetch(sql("sum_lateness"), seconds)}


async def sum_returns(tx: Connection, since: datetime, until: datetime, by: str) -> Sequence[Row]:
    rows: Sequence[Row] = await tx.fetch(sql("sum_returns"), since, until, by)
    return rows


async def sum_failures(tx: Connection, since: datetime, until: datetime, by: str) -> dict[str, int]:
    return {row["name"]: row["n"] for row in await tx.fetch(sql("sum_failures"), since, until, by)}


async def sum_workers(tx: Connection, since: datetime, until: datetime) -> Sequence[Row]:
    rows: Sequence[Row] = await tx.fetch(sql("sum_workers"), since, until)
    return rows


async def list_minutes(tx: Connection, minutes: int) -> Sequence[Row]:
    rows: Sequence[Row] = await tx.fetch(sql("list_minutes"), minutes)
    return rows


async def group_failures(tx: Connection, seconds: float, most: int) -> Sequence[Row]:
    rows: Sequence[Row] = await tx.fetch(sql("group_failures"), seconds, most)
    return rows


async def list_newest_failures(tx: Connection, most: int) -> Sequence[Row]:
    rows: Sequence[Row] = await tx.fetch(sql("list_newest_failures"), most)
    return rows


class SeriesName(StrEnum):
    """Names the counts that are read in spans of time."""

    ATTEMPTS = "attempts"
    EVENTS = "events"
    LATENESS = "lateness"
    WORKERS = "workers"


async def list_series(
    tx: Connection, name: SeriesName, since: datetime, until: datetime, width: int, *more: Any
) -> Sequence[Row]:
    """Returns counts in spans of `width` seconds. `more` is the workflow and the step of attempts, the workflow of events,
    and the names of workers."""
    statement = {
        SeriesName.ATTEMPTS: sql("list_attempt_series"),
        SeriesName.EVENTS: sql("list_event_series"),
        SeriesName.LATENESS: sql("list_lateness_series"),
        SeriesName.WORKERS: sql("list_worker_series"),
    }[name]
    rows: Sequence[Row] = await tx.fetch(statement, since, until, float(width), *more)
    return rows


async def sum_steps(tx: Connection, since: datetime, until: datetime, workflow: str) -> Sequence[Row]:
    rows: Sequence[Row] = await tx.fetch(sql("sum_steps"), since, until, workflow)
    return rows


async def counted_at(tx: Connection) -> datetime | None:
    """Returns the time up to which about the log is counted."""
    at: datetime | None = await tx.fetchval(sql("read_counted_at"))
    return at
