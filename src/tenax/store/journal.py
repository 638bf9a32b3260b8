"""What a batch of decisions writes: collected by the engine, written by one statement."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

import asyncpg
import structlog

from tenax.store.arrays import columns
from tenax.store.connect import Connection
from tenax.store.json_text import encode
from tenax.store.rows import (
    Accepted,
    ExecutionRow,
    Explosion,
    FanRow,
    ItemAgain,
    ItemResult,
    Loss,
    NewExecution,
    NewItem,
    Run,
    StepRow,
)
from tenax.store.statements import sql

SERVER_QUEUE = "tenax:server"
"""Where items of the server's own steps wait. No queue of a definition has such a name."""
_log = structlog.get_logger("tenax.journal")
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
    # What most transactions have nothing of, each with a statement of its own.
    explosions: list[Explosion] = field(default_factory=list)
    item_results: list[ItemResult] = field(default_factory=list)
    fans: dict[tuple[int, str], FanRow] = field(default_factory=dict)
    fans_over: list[int] = field(default_factory=list)
    """Executions whose fan-outs are not to go on."""
    accepted: list[Accepted] = field(default_factory=list)
    cancels: list[int] = field(default_factory=list)
    """Children that are to be cancelled, since nobody waits for them any more."""
    gathered: dict[int, Sequence[str]] = field(default_factory=dict)
    """Completed executions whose results the database puts together, from these steps."""
    failing: dict[int, ExecutionRow] = field(default_factory=dict)
    """Executions that have failed and have compensations: what comes next depends on what this leaves."""
    read_results: dict[tuple[int, str], StepRow] = field(default_factory=dict)
    """Results that were read in this transaction: what has ended does not change."""
    placed: int = 0
    """How many items got a place by what was written."""
    runs: list[Run] = field(default_factory=list)
    """What attempts came to, for the health of their workers."""
    losses: list[Loss] = field(default_factory=list)
    """Those over which their worker was lost, where that is not known yet."""
    pardons: list[int] = field(default_factory=list)
    """Items that kill whatever runs them: their workers are not to blame."""
    freed_gates: list[str] = field(default_factory=list)
    """What was running and counted against a limit, by the limit's name: the next one may go on."""
    holds: dict[int, datetime] = field(default_factory=dict)
    """Items that are held, until when at most."""
    suspects: list[int] = field(default_factory=list)
    """Items that run beside no other such item."""
    special: bool = False
    """Something goes back to the queue that not just any able worker may have."""

    def log(self, execution_id: int, event: dict[str, Any]) -> None:
        self.events.setdefault(execution_id, []).append(event)

    def step(self, row: StepRow) -> None:
        if not row.stored:
            self.steps[row.execution_id, row.step] = row

    def execution(self, row: ExecutionRow, result: Any = None, failure: Any = None) -> None:
        self.executions[row.id] = (row, result, failure)

    @property
    def ready(self) -> bool:
        """Something can be leased now."""
        return bool(self.new_items or self.explosions or self.placed)

    @property
    def out_of_the_common(self) -> bool:
        """Some of what can be leased now is not to be had the short way."""
        fresh = (*self.new_items, *(explosion.item for explosion in self.explosions))
        return self.special or bool(self.freed_gates) or any(not item.common for item in fresh)

    @property
    def server_ready(self) -> bool:
        """Something may be there for the server itself to start."""
        fresh = (*self.new_items, *(explosion.item for explosion in self.explosions))
        return bool(self.placed) or any(item.queue == SERVER_QUEUE for item in fresh)

    @property
    def queue_times(self) -> list[float]:
        """Seconds that new items may wait in the queue, where there is a limit."""
        fresh = (*self.new_items, *(explosion.item for explosion in self.explosions))
        return [item.queue_ttl for item in fresh if item.queue_ttl is not None]

    @property
    def messages(self) -> bool:
        """Something is in the inbox now."""
        return bool(self.cancels) or any(
            row.parent_id is not None and not row.open for row, _, _ in self.executions.values()
        )

    def rows(self) -> tuple[list[int], list[str]]:
        """The events as rows of the log: those of one execution share a row."""
        ids: list[int] = []
        texts: list[str] = []
        for execution_id, events in self.events.items():
            for start, end in _parts(events):
                ids.append(execution_id)
                texts.append(encode(events[start:end]))
        return ids, texts

    async def write(self, tx: Connection) -> None:
        again, changed = self.items_again, list(self.executions.values())
        await self.write_item_results(tx)
        before = columns(
            [item.id for item in again],
            [item.state for item in again],
            [item.available_at for item in again],
            [item.attempt for item in again],
            [item.ledger for item in again],
            [item.last_error for item in again],
            ["\n".join(item.refused_by) for item in again],
            [item.placed for item in again],
            [item.previous for item in again],
            [item.vary for item in again],
        )
        after = columns(
            *item_columns(self.new_items),
            [item.paused for item in self.new_items],
            *_step_columns(self.steps.values()),
            [row.id for row, _, _ in changed],
            [row.state for row, _, _ in changed],
            [row.open_steps for row, _, _ in changed],
            [_encoded(result) for _, result, _ in changed],
            [_encoded(failure) for _, _, failure in changed],
            [row.compensation for row, _, _ in changed],
            *self.rows(),
        )
        await tx.execute(sql("write_journal"), self.ended_items, *before, self.now, *after)
        await self._write_the_rest(tx, [row.id for row, _, _ in changed if row.parent_id is not None])

    async def write_item_results(self, tx: Connection) -> None:
        """Before their items are gone, and before a step's result is put together from them."""
        results, self.item_results = self.item_results, []
        if results:
            written = columns(
                [r.item_id for r in results],
                [r.execution_id for r in results],
                [r.step for r in results],
                [r.item_no for r in results],
                [r.state for r in results],
                [r.attempts for r in results],
                [_encoded(r.result) for r in results],
                [_encoded(r.failure) for r in results],
                [r.keep_element for r in results],
            )
            await tx.execute(sql("insert_item_results"), *written)

    async def _write_the_rest(self, tx: Connection, children: Sequence[int]) -> None:
        for explosion in self.explosions:
            await _explode(tx, explosion, self.now)
        if self.accepted:
            await tx.execute(
                sql("accept_items"),
                [item.id for item in self.accepted],
                [item.attempt for item in self.accepted],
                [item.awaiting for item in self.accepted],
                [item.until for item in self.accepted],
                self.now,
            )
        for execution_id, steps in self.gathered.items():
            await _gather(tx, execution_id, steps)
        if self.fans:
            self.placed += await _place(tx, list(self.fans.values()))
        if self.fans_over:
            await tx.execute(sql("retire_fans"), self.fans_over)
        if children:
            await tx.execute(sql("announce_endings"), children, self.now)
        if self.holds:
            await tx.execute(sql("hold_items"), list(self.holds), list(self.holds.values()))
        if self.suspects:
            await tx.execute(sql("suspect_items"), self.suspects)
        if self.freed_gates:
            await tx.execute(sql("lock_gates"))  # whoever is just being turned away at one is seen then
            await tx.execute(sql("open_gates"), self.freed_gates)
        if self.cancels:
            await tx.execute(sql("insert_cancels"), self.cancels, "nobody waits for it any more", self.now)

    async def insert(self, tx: Connection, executions: Sequence[NewExecution]) -> dict[int, str | None]:
        """Writes new executions with all that belongs to them. Returns the ids that went in, for a key may be taken, and their
        inputs, as far as they are small."""
        states = [self.executions.get(e.id) for e in executions]
        written = columns(
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
            [None if state is None else _encoded(state[1]) for state in states],
            [None if state is None else _encoded(state[2]) for state in states],
            [None if e.parent is None else encode(asdict(e.parent)) for e in executions],
            *item_columns(self.new_items),
            *_step_columns(self.steps.values()),
            [_encoded(row.failures) for row in self.steps.values()],
            *self.rows(),
        )
        inserted = await tx.fetch(sql("insert_executions"), self.now, *written)
        there: dict[int, str | None] = {row["id"]: row["input"] for row in inserted}
        self.explosions = [e for e in self.explosions if e.item.execution_id in there]
        ended = [e.id for e in executions if e.parent is not None and e.id in self.executions]
        await self._write_the_rest(tx, ended)
        return there


def _parts(events: Sequence[dict[str, Any]]) -> Iterator[tuple[int, int]]:
    """Where a row of the log ends: before there are too many, and never between an outcome and its decision."""
    start = 0
    while len(events) - start > EVENTS_PER_ROW:
        end = start + EVENTS_PER_ROW
        while end > start + EVENTS_PER_ROW // 2 and _subject(events[end]) == _subject(events[end - 1]):
            end -= 1
        yield start, end
        start = end
    yield start, len(events)


def _subject(one: dict[str, Any]) -> tuple[Any, ...]:
    return one.get("step"), one.get("item")


def _step_columns(rows: Collection[StepRow]) -> tuple[list[Any], ...]:
    return (
        [row.execution_id for row in rows],
        [row.step for row in rows],
        [row.state for row in rows],
        [row.waiting_for for row in rows],
        [row.attempts for row in rows],
        [_encoded(row.result) for row in rows],
        [_encoded(row.failure) for row in rows],
    )


def _encoded(value: Any) -> str | None:
    return None if value is None else encode(value)


async def _explode(tx: Connection, explosion: Explosion, now: datetime) -> None:
    item = explosion.item
    await tx.execute(
        sql("explode_items"),
        item.execution_id,
        item.plan_id,
        item.step,
        explosion.elements,
        item.queue,
        item.runtime,
        item.priority,
        item.labels,
        item.max_attempts,
        item.timeout,
        item.queue_ttl,
        explosion.parallelism,
        explosion.tolerated,
        now,
        item.vary,
        item.paused,
        item.lane,
        item.action_gate,
        item.action_most,
        explosion.keys,
        item.key_most,
    )


async def _gather(tx: Connection, execution_id: int, steps: Sequence[str]) -> None:
    """Where that would be too much for one value, the results stay with their steps."""
    try:
        async with tx.transaction():
            await tx.execute(sql("gather_results"), execution_id, list(steps))
    except asyncpg.ProgramLimitExceededError:
        _log.warning("the result of an execution is too large to be one value", execution_id=execution_id)


async def _place(tx: Connection, fans: Sequence[FanRow]) -> int:
    placed: int = await tx.fetchval(
        sql("place_items"),
        [fan.execution_id for fan in fans],
        [fan.step for fan in fans],
        [fan.ended for fan in fans],
        [fan.failed for fan in fans],
        [fan.attempts for fan in fans],
        [fan.placed for fan in fans],
        [fan.closed for fan in fans],
    )
    return placed


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
        [item.vary for item in items],
        [item.lane for item in items],
        [item.gates for item in items],
        [item.base_dir for item in items],
    )
