"""New executions: a batch in one transaction, the same key the same execution."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, Protocol

import structlog

from tenax.engine.context import Core
from tenax.engine.graph.start_execution import Start, insert
from tenax.engine.graph.start_steps import CROWD_STEPS
from tenax.model.wire import LeaseRequest, Submitted
from tenax.policy.dispatch.assignment import Candidate
from tenax.store.connect import Connection
from tenax.store.journal import NO_TIME
from tenax.store.rows import LeasedItem
from tenax.store.tables.executions import prepare_submit
from tenax.store.tables.new_executions import Inserted

_log = structlog.get_logger("tenax.submit")
FEW = 16
"""Executions. So many are written by nested loops as fast as by any other plan, and planned once for all."""


class Reservation(Protocol):
    """The lease request of a waiting worker, kept free for one new item. It must be ended by one of its methods."""

    @property
    def request(self) -> LeaseRequest:
        """The request that the item may be leased to, by the statement that inserts it."""

    def hand_over(self, item: LeasedItem) -> Coroutine[Any, Any, None]:
        """Answers the request with the item that was leased to it."""

    def give_up(self) -> None:
        """Ends the request with nothing. Its worker asks again."""


Reserve = Callable[[Candidate], Reservation | None]
"""Reserves the request of a worker that waits for such an item. Returns None if there is none, or other work comes first."""


def _session(core: Core, starts: Sequence[Start]) -> AbstractAsyncContextManager[Connection]:
    """Opens a session. A batch that one statement writes needs no transaction around it.

    A key that is taken is looked up by a second statement. Where others are in the batch, that must not fail after theirs is committed.
    """
    if len(starts) > FEW or any(is_large(start) for start in starts):
        return core.transaction()
    is_one_statement = all(_is_plain(start) for start in starts) and (
        len(starts) == 1 or all(start.key is None for start in starts)
    )
    return core.statements() if is_one_statement else core.straight()


def is_large(start: Start) -> bool:
    """Whether an execution may take long to write: its graph is large, it begins with a fan-out, or it takes over what another one did."""
    plan = start.plan
    return (
        len(plan.steps) > CROWD_STEPS
        or bool(start.carried)
        or any(plan.steps[name].for_each is not None for name in plan.roots)
    )


def _is_plain(start: Start) -> bool:
    """Whether what is written of it depends neither on its id nor on the time: the statement that writes it finds both."""
    plan = start.plan
    return (
        plan.begins_plainly and start.parent is None and not start.carried and len(plan.steps) <= CROWD_STEPS
    )


async def submit(core: Core, reserve: Reserve, starts: Sequence[Start]) -> list[Submitted]:
    """Writes a batch of new executions, in one transaction. A key that was used before is the execution that it was used for."""
    reserved = _reserve(reserve, starts)
    request = reserved.request if reserved is not None else None
    try:
        async with _session(core, starts) as tx:
            numbers, now = await _numbers(tx, starts)
            inserted = await insert(tx, core, now, list(zip(numbers, starts, strict=True)), request)
            known = await _known_keys(tx, numbers, starts, inserted)
            answers = [
                Submitted(inserted[number].id, created=True)
                if number in inserted
                else Submitted(known[start.key or ""], created=False)
                for number, start in zip(numbers, starts, strict=True)
            ]
    except BaseException:  # it is raised again; the request must not wait for what will not come
        if reserved is not None:
            reserved.give_up()
        raise
    leased = [new.leased for new in inserted.values() if new.leased is not None]
    if reserved is not None and not leased:  # the key was taken
        reserved.give_up()
    elif reserved is not None:
        await _hand_over(reserved, leased[0])
    core.hub.announce(
        ready=not leased,
        server_steps=any(start.plan.has_server_steps for start in starts),
        due_in=min((start.plan.soonest for start in starts if start.plan.soonest is not None), default=None),
    )
    return answers


def _reserve(reserve: Reserve, starts: Sequence[Start]) -> Reservation | None:
    """Reserves the request of a worker that waits for just this, where one execution comes alone and begins with one step."""
    [start, *others] = starts
    if others or start.retry_of is not None or start.operator is not None or not _is_plain(start):
        return None
    [first, *more] = start.plan.roots
    step = start.plan.steps[first]
    if more or step.step.concurrency is not None or "async" in step.step.spec:
        return None  # the lease of an async step has its item's id in its event, which is not known yet
    queued = step.queued
    return reserve(Candidate(0, queued.queue, queued.runtime, step.step.labels))


async def _hand_over(reserved: Reservation, leased: LeasedItem) -> None:
    try:
        await reserved.hand_over(leased)
    except Exception:  # noqa: BLE001 -- it is submitted, whatever became of its lease, which has been given up
        _log.exception(
            "what was leased as it was submitted could not be handed over", execution_id=leased.execution_id
        )


async def _numbers(tx: Connection, starts: Sequence[Start]) -> tuple[list[int], datetime]:
    """Returns the number of each execution, and the time: ids and the time are asked for only where something depends on them."""
    are_plain = [_is_plain(start) for start in starts]
    if all(are_plain):
        return [-n for n in range(1, len(starts) + 1)], NO_TIME
    prepared = await prepare_submit(tx, are_plain.count(False), [])
    ids = iter(prepared.ids)
    return [-n if plain else next(ids) for n, plain in enumerate(are_plain, 1)], prepared.now


async def _known_keys(
    tx: Connection, numbers: Sequence[int], starts: Sequence[Start], inserted: Mapping[int, Inserted]
) -> dict[str, int]:
    """Finds the executions that have the keys which were taken."""
    taken = [start.key for number, start in zip(numbers, starts, strict=True) if number not in inserted]
    return (await prepare_submit(tx, 0, taken)).known if taken else {}
