"""Writes new executions: a batch in one transaction. Submissions with the same key are one execution."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, NamedTuple, Protocol

import structlog

from tenax.engine.context import EngineContext
from tenax.engine.graph.paused_workflows import is_paused
from tenax.engine.graph.start_execution import Start, insert
from tenax.engine.graph.start_steps import TURN_TAKING_STEPS
from tenax.model.wire import LeaseRequest, Submitted
from tenax.policy.dispatch.assignment import Candidate
from tenax.store.connect import Connection
from tenax.store.journal import NO_TIME
from tenax.store.rows import LeasedItem
from tenax.store.tables.executions import prepare_submit
from tenax.store.tables.new_executions import InsertedExecution

_log = structlog.get_logger("tenax.submit")
FEW = 16
"""Executions in a batch that a planned statement with nested loops writes as fast as any other plan would."""


class Reservation(Protocol):
    """Is the lease request of a waiting worker, reserved for one new item. One of its methods must be called."""

    @property
    def request(self) -> LeaseRequest:
        """The request to which the statement that inserts the item leases it."""

    def hand_over(self, item: LeasedItem) -> Coroutine[Any, Any, None]:
        """Answers the request with the item that was leased to it."""

    def give_up(self) -> None:
        """Ends the request without an item. Its worker asks again."""


Reserve = Callable[[Candidate], Reservation | None]
"""Reserves the request of a worker that waits for such an item. Returns None if there is none, or other work comes first."""


def _session(context: EngineContext, starts: Sequence[Start]) -> AbstractAsyncContextManager[Connection]:
    """Opens a session. A batch that one statement writes needs no transaction around it.

    A second statement looks up the keys that were taken. In a batch with other executions it must not fail after they
    are committed.
    """
    begins_paused = any(start.is_delayed for start in starts) or _is_paused(context, starts)
    if len(starts) > FEW or any(is_large_start(start) for start in starts) or begins_paused:
        return context.transaction()
    is_one_statement = all(_is_plain(start) for start in starts) and (
        len(starts) == 1 or all(start.key is None for start in starts)
    )
    return context.statements() if is_one_statement else context.planned_transaction()


def _is_paused(context: EngineContext, starts: Sequence[Start]) -> bool:
    """Returns whether one of these executions is paused as it is started."""
    return bool(context.workflow_pauses) and any(is_paused(context, start.plan) for start in starts)


def is_large_start(start: Start) -> bool:
    """Returns whether an execution may take long to write: its graph is large, or it begins with a fan-out."""
    plan = start.plan
    return len(plan.steps) > TURN_TAKING_STEPS or any(
        plan.steps[name].for_each is not None for name in plan.roots
    )


def _is_plain(start: Start) -> bool:
    """Returns whether nothing that is written depends on the execution's id or on the time. The statement that writes
    it then finds both."""
    plan = start.plan
    is_new = start.parent is None and start.operator is None and start.id is None and not start.is_delayed
    return plan.begins_plainly and is_new and len(plan.steps) <= TURN_TAKING_STEPS


async def submit(context: EngineContext, reserve: Reserve, starts: Sequence[Start]) -> list[Submitted]:
    """Writes a batch of new executions in one transaction. A key that was used before returns the execution that it was
    used for."""
    reserved = None if _is_paused(context, starts) else _reserve(reserve, starts)
    request = reserved.request if reserved is not None else None
    try:
        async with _session(context, starts) as tx:
            written = await write_executions(tx, context, starts, request)
    except BaseException:  # raised again: the request must not wait for an item that will not come
        if reserved is not None:
            reserved.give_up()
        raise
    if reserved is not None and not written.leased:  # the key was taken
        reserved.give_up()
    elif reserved is not None:
        await _hand_over(reserved, written.leased[0])
    announce_starts(context, starts, written.now, ready=not written.leased)
    return written.answers


class WrittenExecutions(NamedTuple):
    """Describes executions that were written."""

    answers: list[Submitted]
    leased: list[LeasedItem]
    """The item that the lease request gets, if it gets one."""
    now: datetime
    """The time by which the starts of delayed executions are due."""


async def write_executions(
    tx: Connection, context: EngineContext, starts: Sequence[Start], request: LeaseRequest | None = None
) -> WrittenExecutions:
    """Writes new executions in this transaction."""
    numbers, now = await _numbers(tx, starts)
    inserted = await insert(tx, context, now, list(zip(numbers, starts, strict=True)), request)
    known = await _known_keys(tx, numbers, starts, inserted)
    answers = [
        Submitted(inserted[number].id, created=True)
        if number in inserted
        else Submitted(known[start.key or ""], created=False)
        for number, start in zip(numbers, starts, strict=True)
    ]
    leased = [new.leased for new in inserted.values() if new.leased is not None]
    return WrittenExecutions(answers, leased, now)


def announce_starts(context: EngineContext, starts: Sequence[Start], now: datetime, *, ready: bool) -> None:
    """Announces executions that were committed. `ready` tells whether they have items that no worker was given."""
    context.notifier.announce(
        ready=ready,
        server_steps=any(start.plan.has_server_steps or start.budgeted for start in starts),
        due_in=min((due for start in starts if (due := _due_in(start, now)) is not None), default=None),
    )


def _due_in(start: Start, now: datetime) -> float | None:
    """Returns the seconds until the timers must look at a new execution."""
    if start.is_delayed:
        return (start.starts_at(now) - now).total_seconds()
    return start.plan.soonest


def _reserve(reserve: Reserve, starts: Sequence[Start]) -> Reservation | None:
    """Reserves the request of a waiting worker for a single execution that begins with one step."""
    [start, *others] = starts
    if others or start.retry_of is not None or start.operator is not None or not _is_plain(start):
        return None
    [first, *more] = start.plan.roots
    step = start.plan.steps[first]
    if more or step.step.concurrency is not None or "async" in step.step.spec:
        return None  # the event of an async step's lease contains the item's id, which is not known yet
    queued = step.queued
    return reserve(Candidate(0, queued.queue, queued.runtime, step.step.labels))


async def _hand_over(reserved: Reservation, leased: LeasedItem) -> None:
    try:
        await reserved.hand_over(leased)
    except Exception:  # noqa: BLE001 -- it is submitted, whatever became of its lease, which has been given up
        _log.exception(
            "an item that was leased at its submission could not be handed to its worker",
            execution_id=leased.execution_id,
        )


async def _numbers(tx: Connection, starts: Sequence[Start]) -> tuple[list[int], datetime]:
    """Returns the number of each execution, and the time. Ids and time are read only if something depends on them."""
    are_plain = [_is_plain(start) for start in starts]
    if all(are_plain):
        return [-n for n in range(1, len(starts) + 1)], NO_TIME
    needed = sum(not plain and start.id is None for plain, start in zip(are_plain, starts, strict=True))
    prepared = await prepare_submit(tx, needed, [])
    ids = iter(prepared.ids)
    numbers = [
        -n if plain else next(ids) if start.id is None else start.id
        for n, (plain, start) in enumerate(zip(are_plain, starts, strict=True), 1)
    ]
    return numbers, prepared.now


async def _known_keys(
    tx: Connection, numbers: Sequence[int], starts: Sequence[Start], inserted: Mapping[int, InsertedExecution]
) -> dict[str, int]:
    """Finds the executions whose keys were taken."""
    taken = [start.key for number, start in zip(numbers, starts, strict=True) if number not in inserted]
    return (await prepare_submit(tx, 0, taken)).known if taken else {}
