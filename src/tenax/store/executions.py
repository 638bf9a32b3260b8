"""Executions: their beginnings, and what is read of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tenax.model.json_text import decode
from tenax.store.connect import Connection
from tenax.store.statements import sql

_JSON = ("input", "result", "failure", "waiting")


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a batch of submissions starts from."""

    now: datetime
    ids: list[int]
    known: dict[str, int]
    """The executions that have one of the keys already."""


async def prepare_submit(tx: Connection, count: int, keys: Sequence[str | None]) -> Prepared:
    row = await tx.fetchrow(sql("prepare_submit"), count, keys)
    known = dict(zip(row["known_keys"], row["known_ids"], strict=True))
    return Prepared(row["now"], row["ids"], known)


async def get_execution(tx: Connection, execution_id: int) -> dict[str, Any] | None:
    row = await tx.fetchrow(sql("get_execution"), execution_id)
    return None if row is None else _plain(row)


async def list_executions(
    tx: Connection,
    *,
    states: Sequence[str] | None,
    workflow: str | None,
    since: datetime | None,
    before: int | None,
    limit: int,
    top: bool,
    compensation: str | None,
) -> list[dict[str, Any]]:
    """The newest first; `top`: without children; `compensation`: only those whose compensations stand so."""
    rows = await tx.fetch(sql("list_executions"), states, workflow, since, before, limit, top, compensation)
    return [_plain(row) for row in rows]


@dataclass(frozen=True, slots=True)
class OpenExecution:
    """An execution that goes on, by the names of its steps."""

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
    """The execution itself, its children and theirs, by their ids."""
    return [row["id"] for row in await tx.fetch(sql("find_descendants"), execution_id)]


async def get_family(tx: Connection, parents: Sequence[int], limit: int) -> list[dict[str, Any]]:
    """Children of these executions, at most so many of each; `n`: how many it has."""
    return [_plain(row) for row in await tx.fetch(sql("get_family"), parents, limit)]


def _plain(row: Any) -> dict[str, Any]:
    return {name: decode(value) if name in _JSON else value for name, value in row.items()}
