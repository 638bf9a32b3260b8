"""Collects the changes of one transaction, and writes them with one statement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from operator import attrgetter
from typing import Any

import asyncpg
import structlog

from tenax.model.changes import ItemAgain, ItemResult, Loss, Run, StepRow
from tenax.model.events.audit import NewEntry, entry_of
from tenax.model.execution_views import LEFT_OUT
from tenax.model.json_text import encode
from tenax.model.letters.letter import Letters
from tenax.policy.expressions.meter import OUTPUT_LIMIT
from tenax.policy.queued_action import BUDGET_QUEUE, SERVER_QUEUE
from tenax.policy.transition import Consequences
from tenax.store import audit
from tenax.store.array_params import attributes, column, columns
from tenax.store.connect import Connection
from tenax.store.item_changes import Change, change_parameters, locked_change
from tenax.store.rows import (
    Accepted,
    ExecutionRow,
    FanOutRow,
    NewFanOut,
    NewItem,
)
from tenax.store.statements import named, sql
from tenax.store.time_slices import TimeSlice

_log = structlog.get_logger("tenax.journal")
NO_TIME = datetime.min.replace(tzinfo=UTC)
"""Stands for the time in a journal of new executions. The database reads the time as it inserts them."""
TOO_LARGE_TO_GATHER = "too large to be one value; its steps have it in parts: `tenax show`, `tenax items`"
EVENTS_PER_ROW = 32
"""Events in one row of the log. The sequence leaves this many ids for each row."""


Parameters = dict[str, Sequence[str | None] | str | None]
_NEW_ITEM = {
    "execution": "execution_id", "plan": "plan_id", "limits": "limits_text",
    **{name: name for name in ("step", "queue", "runtime", "priority", "labels", "max_attempts", "timeout", "queue_ttl", "vary", "lane",
                               "base_dir", "paused")},
}  # fmt: skip
"""The parameters of statements that insert items, and the attributes of a new item that they take."""
_item_values = attrgetter(*_NEW_ITEM.values())
_STEP = ("execution", "step", "state", "waiting_for", "attempts", "result", "failure")


def parameters(prefix: str, names: tuple[str, ...], values: Iterable[Sequence[Any]]) -> Parameters:
    """Returns a parameter for each of these names. Without values, all of them are null."""
    found = [column(one) for one in values]
    whole = _with_prefix(prefix, names)
    return dict(zip(whole, found, strict=True)) if found else dict.fromkeys(whole)


@cache
def _with_prefix(prefix: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{prefix}_{name}" for name in names)


@dataclass(slots=True)
class Journal:
    """Collects the changes of one transaction. Nothing is written before `write`."""

    now: datetime
    events: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    ended_items: list[int] = field(default_factory=list)
    items_again: list[ItemAgain] = field(default_factory=list)
    new_items: list[NewItem] = field(default_factory=list)
    steps: dict[tuple[int, str], StepRow] = field(default_factory=dict)
    executions: dict[int, tuple[ExecutionRow, Any, Any]] = field(default_factory=dict)
    # Most transactions have none of the following. Each has a statement of its own.
    new_fan_outs: list[NewFanOut] = field(default_factory=list)
    item_results: list[ItemResult] = field(default_factory=list)
    fan_outs: dict[tuple[int, str], FanOutRow] = field(default_factory=dict)
    ended_fan_outs: list[int] = field(default_factory=list)
    """The executions whose fan-outs must not continue."""
    accepted: list[Accepted] = field(default_factory=list)
    cancels: list[int] = field(default_factory=list)
    """The children to cancel, because their parents no longer wait for them."""
    gathered: dict[int, Sequence[str]] = field(default_factory=dict)
    """The completed executions whose results the database gathers from these steps."""
    failing: dict[int, ExecutionRow] = field(default_factory=dict)
    """The failed executions with compensations. Their next step depends on the state that this journal writes."""
    read_results: dict[tuple[int, str], StepRow] = field(default_factory=dict)
    """Results that were read in this transaction. Results of ended steps do not change."""
    slots_filled: int = 0
    """The number of items that got a slot of their fan-out by this journal."""
    runs: list[Run] = field(default_factory=list)
    """The results of attempts, for the health of their workers."""
    losses: list[Loss] = field(default_factory=list)
    """Lost attempts, by worker, that are not counted yet."""
    pardons: list[int] = field(default_factory=list)
    """The items whose every worker was lost. The losses do not count against the workers."""
    freed_limits: list[str] = field(default_factory=list)
    """The limits of items that have stopped running, by name. The next item of each limit may run."""
    suspects: list[int] = field(default_factory=list)
    """Items that now run only apart from other suspects."""
    queues_restricted_item: bool = False
    """True if a restricted item goes back to the queue."""
    max_result_bytes: int = OUTPUT_LIMIT
    """Bytes of the largest result of a step that decisions in this transaction read."""
    copied_results: list[tuple[int, str, str]] = field(default_factory=list)
    """Results that are too large to be read and are copied within their table: the execution, the step that has the
    result, and the step that gets it."""
    letters: Letters = field(default_factory=Letters)
    """The changes of dead letters."""
    budgets_changed: bool = False
    """True if a budget may now pay for items that wait for it."""
    audited: list[NewEntry] = field(default_factory=list)
    """What people did."""
    guarded_now: datetime | None = None
    """The time of the decisions on the guarded transitions, if `now` is later."""
    guarded: list[Change] = field(default_factory=list)
    """The transitions of executions that are not locked. Each is applied only if the row is as the transition expects it."""

    def log(self, execution_id: int, event: dict[str, Any]) -> None:
        self.events.setdefault(execution_id, []).append(event)

    def log_action(self, execution_id: int, action: dict[str, Any], **more: Any) -> None:
        """Logs an event `operator_action`, and audits it with `more` data."""
        self.log(execution_id, action)
        self.audited.append(entry_of(action, execution_id, **more))

    def step(self, row: StepRow) -> None:
        if not row.stored:
            self.steps[row.execution_id, row.step] = row

    def execution(self, row: ExecutionRow, result: Any = None, failure: Any = None) -> None:
        self.executions[row.id] = (row, result, failure)

    @property
    def ready(self) -> bool:
        """Whether something can be leased now."""
        return bool(self.new_items or self.new_fan_outs or self.slots_filled) or any(
            c.next for c in self.guarded
        )

    @property
    def has_restricted_items(self) -> bool:
        """Whether some items that can be leased now are restricted, so that the short claim may not find them."""
        fresh = (*self.new_items, *(new_fan_out.item for new_fan_out in self.new_fan_outs))
        return (
            self.queues_restricted_item
            or bool(self.freed_limits)
            or any(not item.unrestricted for item in fresh)
        )

    @property
    def server_ready(self) -> bool:
        """Whether a step of the server's own may be ready, or an item that needs a budget."""
        fresh = (*self.new_items, *(new_fan_out.item for new_fan_out in self.new_fan_outs))
        return (
            bool(self.slots_filled)
            or self.budgets_changed
            or any(item.queue in (SERVER_QUEUE, BUDGET_QUEUE) for item in fresh)
        )

    @property
    def queue_times(self) -> list[float]:
        """Seconds that new items may wait in the queue, if there is a limit."""
        fresh = (*self.new_items, *(new_fan_out.item for new_fan_out in self.new_fan_outs))
        followers = (change.next for change in self.guarded if change.next is not None)
        waits = (*(item.queue_ttl for item in fresh), *(action.queue_ttl for action in followers))
        return [seconds for seconds in waits if seconds is not None]

    @property
    def messages(self) -> bool:
        """Whether the inbox has new messages."""
        return bool(self.cancels) or any(
            row.parent_id is not None and not row.open for row, _, _ in self.executions.values()
        )

    async def rows(self, time_slice: TimeSlice) -> tuple[list[int], list[str]]:
        """Returns the events as rows of the log. Events of one execution share rows."""
        ids: list[int] = []
        texts: list[str] = []
        for execution_id, events in self.events.items():
            for start, end in _parts(events):
                if time_slice.is_over:
                    await time_slice.give_way()
                ids.append(execution_id)
                texts.append(encode(events[start:end]))
        return ids, texts

    def add(self, made: Consequences) -> None:
        """Adds the transition of an item whose execution is locked."""
        item = made.item
        self.events.setdefault(item.execution_id, []).extend(made.events)
        self.freed_limits += item.held_limits
        if made.run is not None:
            self.runs.append(made.run)
        if made.poison:
            self.pardons.append(item.id)
        if made.abandoned_child is not None:
            self.cancels.append(made.abandoned_child)
        if made.again is not None:
            self.items_again.append(made.again)
        else:
            self.ended_items.append(item.id)
        if made.suspect:
            self.suspects.append(item.id)
            self.queues_restricted_item = True
        if made.recorded_step is not None:
            self.step(made.recorded_step)
        if made.item_result is not None:
            self.item_results.append(made.item_result)
        if made.letter is not None:
            self.letters.add(made.letter)

    async def write(self, tx: Connection) -> set[int]:
        """Writes everything. Returns the items of the guarded changes that were applied. The other guarded changes have
        no effect."""
        await self.write_item_results(tx)
        text, arguments = named("apply_transitions").fill(await self._parameters())
        applied = await tx.fetchval(text, *arguments)
        children = [row.id for row, _, _ in self.executions.values() if row.parent_id is not None]
        await self.write_the_rest(tx, children)
        if not self.guarded:
            return set()
        done = set(applied)
        if len(done) < len(self.guarded) + len(self.items_again):
            self.guarded = [change for change in self.guarded if change.item_id in done]
        return done

    async def _parameters(self) -> dict[str, Any]:
        """Returns the parameters of `apply_transitions`. For a large graph this takes several time slices."""
        time_slice = TimeSlice()
        executions = list(self.executions.values())
        log_execution, log_events = await self.rows(time_slice)
        new_items = encode(self.new_items) if self.new_items else None
        if time_slice.is_over:
            await time_slice.give_way()
        steps = step_parameters(self.steps.values())
        if time_slice.is_over:
            await time_slice.give_way()
        actions = {action: n for n, action in enumerate({c.next: None for c in self.guarded if c.next}, 1)}
        changes = [*self.guarded, *map(locked_change, self.items_again)]
        return {
            "ends": any(change.state is None for change in changes),
            "repeats": any(change.state is not None for change in changes),
            "now": self.now,
            "guarded_now": self.guarded_now or self.now,
            "ended_items": self.ended_items,
            **change_parameters(changes, actions),
            "actions": encode([{"n": n, **action._asdict()} for action, n in actions.items()]),
            "new_items": new_items,
            **steps,
            "execution_id": column([row.id for row, _, _ in executions]),
            "execution_state": column([row.state for row, _, _ in executions]),
            "execution_open_steps": column([row.open_steps for row, _, _ in executions]),
            "execution_result": column([encoded(result) for _, result, _ in executions]),
            "execution_failure": column([encoded(failure) for _, _, failure in executions]),
            "execution_compensation": column([row.compensation for row, _, _ in executions]),
            "letters_opened": self.letters.opened_text,
            "letters_moved": self.letters.moved_text,
            "log_execution": column(log_execution),
            "log_events": column(log_events),
        }

    async def write_item_results(self, tx: Connection) -> None:
        """Writes results of items. This comes before their items are deleted, and before the result of a step is
        gathered from them."""
        results, self.item_results = self.item_results, []
        if results:
            written = columns(
                [r.item_id for r in results],
                [r.execution_id for r in results],
                [r.item_no for r in results],
                [r.attempts for r in results],
                [encoded(r.result) for r in results],
                [encoded(r.failure) for r in results],
                [r.keep_element for r in results],
            )
            steps, states = "\n".join([r.step for r in results]), "\n".join([r.state for r in results])
            await tx.execute(sql("insert_item_results"), *written, steps, states)

    async def write_the_rest(self, tx: Connection, children: Sequence[int]) -> None:
        for new_fan_out in self.new_fan_outs:
            await _insert_fan_out(tx, new_fan_out, self.now)
        if self.accepted:
            accepted = attributes(self.accepted, "id", "attempt", "awaiting", "until")
            await tx.execute(sql("accept_items"), *accepted, self.now)
        for execution_id, lender, borrower in self.copied_results:
            await tx.execute(sql("copy_step_result"), execution_id, lender, borrower)
        for execution_id, steps in self.gathered.items():
            await _gather(tx, execution_id, steps)
        if self.fan_outs:
            self.slots_filled += await _fill_slots(tx, list(self.fan_outs.values()))
        if self.ended_fan_outs:
            await tx.execute(sql("end_fan_outs"), self.ended_fan_outs)
        if children:
            await tx.execute(sql("announce_endings"), children, self.now)
        if self.suspects:
            await tx.execute(sql("mark_suspects"), self.suspects)
        if self.freed_limits:
            await tx.execute(
                sql("lock_limits")
            )  # an item that is just being blocked at one of these limits is then visible
            await tx.execute(sql("unblock_items"), self.freed_limits)
        if self.cancels:
            await tx.execute(sql("insert_cancels"), self.cancels, "nobody waits for it any more", self.now)
        if self.audited:
            await audit.insert_entries(tx, self.audited)


def _parts(events: Sequence[dict[str, Any]]) -> Iterator[tuple[int, int]]:
    """Divides events into rows of the log. A row ends before it has too many events, and never between an outcome and
    its decision."""
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


def step_parameters(rows: Iterable[StepRow]) -> Parameters:
    """Returns the parameters of a statement that writes these steps."""
    values = [
        (r.execution_id, r.step, r.state, r.waiting_for, r.attempts, encoded(r.result), encoded(r.failure))
        for r in rows
    ]
    return parameters("step", _STEP, zip(*values, strict=True))


def encoded(value: Any) -> str | None:
    return None if value is None else encode(value)


async def _insert_fan_out(tx: Connection, new_fan_out: NewFanOut, now: datetime) -> None:
    values = new_item_values(new_fan_out.item) | {
        "elements": new_fan_out.elements,
        "parallelism": new_fan_out.parallelism,
        "tolerated": new_fan_out.tolerated,
        "keys": new_fan_out.keys,
        "now": now,
    }
    text, arguments = named("insert_fan_out").fill(values)
    await tx.execute(text, *arguments)


def new_item_values(item: NewItem) -> dict[str, Any]:
    """Returns the parameters of a statement that inserts items like this one."""
    return dict(zip(_NEW_ITEM, _item_values(item), strict=True))


async def _gather(tx: Connection, execution_id: int, steps: Sequence[str]) -> None:
    """Gathers the results of steps into that of the execution. If it is too large for one value, a marker replaces it,
    and the steps keep their results."""
    try:
        async with tx.transaction():
            await tx.execute(sql("gather_results"), execution_id, list(steps))
    except asyncpg.ProgramLimitExceededError:
        _log.warning("the result of an execution is too large to be one value", execution_id=execution_id)
        await tx.execute(sql("replace_result"), execution_id, encode({LEFT_OUT: TOO_LARGE_TO_GATHER}))


async def _fill_slots(tx: Connection, fan_outs: Sequence[FanOutRow]) -> int:
    counters = attributes(fan_outs, "execution_id", "step", "ended", "failed", "attempts", "placed", "closed")
    filled: int = await tx.fetchval(sql("fill_slots"), *counters)
    return filled
