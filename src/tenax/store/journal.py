"""What a batch of decisions writes: collected by the engine, written by one statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from tenax.store.connect import Connection
from tenax.store.json_text import encode
from tenax.store.rows import ExecutionRow, ItemAgain, NewExecution, NewItem, StepRow
from tenax.store.statements import sql

EVENTS_PER_ROW = 32
"""As many ids as the sequence leaves for one row of the log."""


@dataclass(slots=True)
class Journal:
    """The changes of one transaction. Nothing is written before `write`."""

    now: datetime
    events: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    ended_items: list[int] = field(default_factory=list)
    items_again: list[ItemAgain] = field(default_factory=list)
    new_items: list[NewItem] = field(default_factory=list)
    steps: dict[tuple[int, str], StepRow] = field(default_factory=dict)
    executions: dict[int, tuple[ExecutionRow, Any, Any]] = field(default_factory=dict)

    def log(self, execution_id: int, event: dict[str, Any]) -> None:
        self.events.setdefault(execution_id, []).append(event)

    def step(self, row: StepRow) -> None:
        self.steps[row.execution_id, row.step] = row

    def execution(self, row: ExecutionRow, result: Any = None, failure: Any = None) -> None:
        self.executions[row.id] = (row, result, failure)

    def rows(self) -> tuple[list[int], list[str]]:
        """The events as rows of the log: those of one execution share a row."""
        ids: list[int] = []
        texts: list[str] = []
        for execution_id, events in self.events.items():
            for start in range(0, len(events), EVENTS_PER_ROW):
                ids.append(execution_id)
                texts.append(encode(events[start : start + EVENTS_PER_ROW]))
        return ids, texts

    async def write(self, tx: Connection) -> None:
        again, changed = self.items_again, list(self.executions.values())
        await tx.execute(
            sql("write_journal"),
            self.ended_items,
            [item.id for item in again],
            [item.state for item in again],
            [item.available_at for item in again],
            [item.attempt for item in again],
            [item.ledger for item in again],
            [item.last_error for item in again],
            ["\n".join(item.refused_by) for item in again],
            *item_columns(self.new_items),
            encode([asdict(row) for row in self.steps.values()]),
            [row.id for row, _, _ in changed],
            [row.state for row, _, _ in changed],
            [row.open_steps for row, _, _ in changed],
            [None if result is None else encode(result) for _, result, _ in changed],
            self.now,
            [None if failure is None else encode(failure) for _, _, failure in changed],
            *self.rows(),
        )

    async def insert(self, tx: Connection, executions: Sequence[NewExecution]) -> set[int]:
        """Writes new executions with all that belongs to them. Returns the ids that went in: a key may be taken."""
        states = [self.executions.get(e.id) for e in executions]
        inserted = await tx.fetch(
            sql("insert_executions"),
            [e.id for e in executions],
            [e.plan_id for e in executions],
            [e.open_steps for e in executions],
            [e.submit_key for e in executions],
            [e.input for e in executions],
            [e.base_dir for e in executions],
            [e.retry_of for e in executions],
            [e.original_execution for e in executions],
            [e.deadline for e in executions],
            ["running" if state is None else state[0].state for state in states],
            [None if state is None or state[1] is None else encode(state[1]) for state in states],
            *item_columns(self.new_items),
            *self.rows(),
            encode([asdict(row) for row in self.steps.values()]),
            self.now,
            [None if state is None or state[2] is None else encode(state[2]) for state in states],
        )
        return {row["id"] for row in inserted}


def item_columns(items: Sequence[NewItem]) -> tuple[list[Any], ...]:
    return (
        [item.execution_id for item in items],
        [item.plan_id for item in items],
        [item.step for item in items],
        [item.queue for item in items],
        [item.runtime for item in items],
        [item.priority for item in items],
        [item.labels for item in items],
        [item.max_attempts for item in items],
        [item.timeout for item in items],
        [item.queue_ttl for item in items],
    )
