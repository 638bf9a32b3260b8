"""Reads ready work that may not run yet, with its requirements and its limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tenax.model.json_text import decode
from tenax.policy.diagnosis.fleet import ReadyKind
from tenax.policy.queued_action import SERVER_QUEUE
from tenax.store.connect import Connection
from tenax.store.statements import sql

COUNTED_AS_READY = 10_000  # ready items of queues that a diagnosis counts by kind


@dataclass(frozen=True, slots=True)
class ReadyWork:
    """Holds ready items of a step with the same requirements. Without a limit, its value and its number of running items are None."""

    execution_id: int
    step: str
    queue: str
    runtime: str
    labels: dict[str, str]
    since: datetime
    action: str | None
    action_most: int | None
    key: str | None
    key_most: int | None
    action_running: int | None
    action_held_by: Sequence[int]
    """Executions of which work runs under the limit of the action, at most 5 of them."""
    key_running: int | None
    key_held_by: Sequence[int]
    queue_most: int | None
    queue_running: int | None
    rate: float | None
    tokens: float | None
    paused_by: str | None
    """The person who paused the queue."""
    paused_why: str | None


async def ready_work_of(tx: Connection, execution_id: int) -> list[ReadyWork]:
    """Returns the ready work of an execution, the longest waiting first."""
    return await _find(tx, execution_id, ())


async def ready_work_among(tx: Connection, items: Sequence[int]) -> list[ReadyWork]:
    """Returns the ready work of these work items."""
    return await _find(tx, None, items)


async def _find(tx: Connection, execution_id: int | None, items: Sequence[int]) -> list[ReadyWork]:
    rows = await tx.fetch(sql("find_ready_work"), execution_id, items, SERVER_QUEUE)
    return [ReadyWork(**{**row, "labels": decode(row["labels"]) or {}}) for row in rows]


async def ready_kinds(tx: Connection, names: Sequence[str]) -> list[ReadyKind]:
    """Counts the ready items of these queues by what they ask for, the most frequent first."""
    rows = await tx.fetch(sql("find_ready_kinds"), names, COUNTED_AS_READY)
    return [ReadyKind(**{**row, "labels": decode(row["labels"]) or {}}) for row in rows]
