"""Prepares the insertion of executions, and reads executions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from tenax.model.events import timestamp
from tenax.model.filters.terms import Filter
from tenax.model.json_text import decode
from tenax.model.views import (
    Awaited,
    Compensation,
    ExecutionStatus,
    ExecutionSummary,
    FanOutCounts,
    WaitingItem,
)
from tenax.store.connect import Connection
from tenax.store.selection.conditions import anchor, limited_in_time, with_conditions
from tenax.store.statements import sql

_JSON = ("input", "result", "failure")


@dataclass(frozen=True, slots=True)
class PreparedSubmit:
    """The time and the ids for a batch of submissions."""

    now: datetime
    ids: list[int]
    known: dict[str, int]
    """The executions that have one of the keys already."""


async def prepare_submit(tx: Connection, count: int, keys: Sequence[str | None]) -> PreparedSubmit:
    row = await tx.fetchrow(sql("prepare_submit"), count, keys)
    known = dict(zip(row["known_keys"], row["known_ids"], strict=True))
    return PreparedSubmit(row["now"], row["ids"], known)


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedExecution:
    """An execution, and the attempt of its parent that started it, if it is a child."""

    id: int
    workflow: str
    state: ExecutionStatus
    failure: dict[str, Any] | None
    created_at: datetime
    finished_at: datetime | None
    parent_id: int | None
    parent_step: str | None
    parent_item_no: int | None
    parent_attempt: int | None
    n: int = 0
    """Number of children of its parent, in a family."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredExecution(RelatedExecution):
    """An execution with all its columns."""

    plan_id: int
    version: str | None
    input: dict[str, Any] | None
    result: Any
    result_size: int | None
    """Bytes of a result that was left out."""
    submit_key: str | None
    retry_of: int | None
    original_execution: int | None
    retried_by: list[int]
    compensation: str | None
    deadline_at: datetime | None
    budgeted: bool
    """True if it belongs to a tree with a budget."""
    starts_at: datetime | None
    now: datetime

    @property
    def open(self) -> bool:
        return self.state in ("running", "paused")


async def get_execution(tx: Connection, execution_id: int, most: int = 0) -> StoredExecution | None:
    """Returns an execution. A result of more than `most` bytes is left out."""
    row = await tx.fetchrow(sql("get_execution"), execution_id, most)
    return None if row is None else StoredExecution(**_plain(row))


async def find_retried_execution(tx: Connection, number: int) -> tuple[int | None, int | None]:
    """Returns the execution of the attempt with this id of `ops.execution`, and the execution with this id. Either may
    be None."""
    row = await tx.fetchrow(sql("find_retried_execution"), number)
    return row["of_attempt"], row["of_execution"]


async def list_executions(
    tx: Connection, chosen: Filter, *, before: int | None, limit: int, lowest: int | None = None
) -> list[tuple[ExecutionSummary, int | None]]:
    """Lists the executions that a filter selects, the newest first, each with the id of the work item that it waits
    for (`waiting`). The reason of that wait is not looked up. `lowest` is the smallest id. Raises UsageError if it
    takes too long."""
    terms = await anchor(tx, chosen)
    statement, arguments = with_conditions(sql("list_executions"), terms, before, limit, lowest)
    async with limited_in_time(tx):
        rows = await tx.fetch(statement, *arguments)
    return [_summary(row, decode(row["waiting"])) for row in rows]


def _summary(row: Any, item: dict[str, Any] | None) -> tuple[ExecutionSummary, int | None]:
    summary = ExecutionSummary(
        id=row["id"],
        workflow=row["workflow"],
        version=row["version"],
        status=row["state"],
        failure=decode(row["failure"]),
        created_at=timestamp(row["created_at"]),
        finished_at=timestamp(row["finished_at"]),
        retry_of=row["retry_of"],
        parent=row["parent_id"],
        compensation=compensation_shown(row["compensation"]),
        waiting=None if item is None else _waiting_item(item),
    )
    return summary, None if item is None else item["id"]


def _waiting_item(item: dict[str, Any]) -> WaitingItem:
    return WaitingItem(
        item=item["item"],
        step=item["step"],
        state=item["state"],
        attempt=item["attempt"],
        counted=item["counted"],
        lost_by=item["lost_by"],
        awaiting=awaited(item["awaiting"], item["child"], item["until"]),
        last_error=item["last_error"],
        compensates=item["compensates"],
        available_at=item["available_at"],
        due_in=item["due_in"],
        max_attempts=item["max_attempts"],
        unserved=None,
        limited=None,
        fan_out=None if item["fan_out"] is None else FanOutCounts(**item["fan_out"]),
    )


def compensation_shown(stored: str | None) -> Compensation | None:
    """Returns the state of compensation to show. While running items are awaited it is shown as under way."""
    return cast("Compensation | None", "running" if stored == "waiting" else stored)


def awaited(awaiting: str | None, child: int | None, until: str | None) -> Awaited | None:
    """Returns what an item waits for without a worker. Returns None if it waits for nothing, or for a worker."""
    if awaiting is None:
        return None
    kind, _, name = awaiting.partition(":")
    match kind:
        case "sleep":
            return Awaited(kind=kind, until=until)
        case "signal":
            return Awaited(kind=kind, signal=name, deadline_at=until)
        case "child":
            return Awaited(kind=kind, child=child, deadline_at=until)
        case _:
            return Awaited(kind=kind, deadline_at=until)


@dataclass(frozen=True, slots=True)
class OpenExecution:
    """An open execution, with the names of its steps by state."""

    id: int
    plan_id: int
    compensation: str | None
    done: frozenset[str]
    lost: frozenset[str]
    live: frozenset[str]


async def find_open_executions(tx: Connection, after: int, limit: int) -> list[OpenExecution]:
    return [
        OpenExecution(
            row["id"],
            row["plan_id"],
            row["compensation"],
            *(frozenset(row[name]) for name in ("done", "lost", "live")),
        )
        for row in await tx.fetch(sql("find_open_executions"), after, limit)
    ]


async def find_descendants(tx: Connection, execution_id: int) -> list[int]:
    """Returns an execution and all its descendants, ordered by id."""
    return [row["id"] for row in await tx.fetch(sql("find_descendants"), execution_id)]


async def get_family(tx: Connection, parents: Sequence[int], limit: int) -> list[RelatedExecution]:
    """Returns the children of these executions, at most `limit` of each."""
    return [RelatedExecution(**_plain(row)) for row in await tx.fetch(sql("get_family"), parents, limit)]


def _plain(row: Any) -> dict[str, Any]:
    return {name: decode(value) if name in _JSON else value for name, value in row.items()}
