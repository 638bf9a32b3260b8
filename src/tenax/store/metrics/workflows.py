"""Reads stored workflows with what their executions came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from tenax.store.connect import Connection
from tenax.store.statements import sql

Row = Mapping[str, Any]


async def list_page(tx: Connection, after: str | None, limit: int, containing: str | None) -> Sequence[Row]:
    """Lists workflows in the order of their names, each with the definition that its name finds."""
    rows: Sequence[Row] = await tx.fetch(sql("list_workflow_page"), after, limit, containing)
    return rows


async def sum_attempts(
    tx: Connection, since: datetime, until: datetime, names: Sequence[str]
) -> dict[str, Row]:
    """Says what the attempts of workflows came to, by name."""
    rows = await tx.fetch(sql("sum_workflow_attempts"), since, until, list(names))
    return {row["workflow"]: row for row in rows}


async def sum_executions(
    tx: Connection, since: datetime, until: datetime, names: Sequence[str]
) -> dict[str, Row]:
    """Counts the executions and the retries of workflows, by name."""
    rows = await tx.fetch(sql("sum_workflow_executions"), since, until, list(names))
    return {row["workflow"]: row for row in rows}


async def find_last_executions(tx: Connection, names: Sequence[str], looked: int) -> dict[str, Row]:
    """Returns the last execution of each workflow, if it is among the newest `looked` of all."""
    rows = await tx.fetch(sql("find_last_executions"), list(names), looked)
    return {row["name"]: row for row in rows}


async def find_definition(tx: Connection, name: str, content: str | None) -> Row | None:
    """Finds a definition by its name and the begin of its hash. Without a hash, the one that the name finds."""
    row: Row | None = await tx.fetchrow(sql("find_definition"), name, content)
    return row


async def list_versions(tx: Connection, name: str, limit: int) -> Sequence[Row]:
    rows: Sequence[Row] = await tx.fetch(sql("list_versions"), name, limit)
    return rows
