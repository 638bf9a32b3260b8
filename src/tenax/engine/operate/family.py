"""Cancels, pauses and resumes an execution together with its descendants, in one transaction."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from msgspec import UNSET

from tenax.engine.context import EngineContext, no_execution
from tenax.engine.graph.end_execution import cancel_items
from tenax.engine.graph.paused_workflows import DELAY_ACTOR
from tenax.engine.graph.recorded_results import ResultsRecorded
from tenax.engine.graph.settle import settle_recorded
from tenax.engine.notifier import announce
from tenax.engine.operate.marks import Mark
from tenax.errors import Busy, Conflict
from tenax.model.events import event
from tenax.model.events.data import CancelledData, OperatorData
from tenax.model.events.types import ExecutionCancelled, ExecutionPaused, ExecutionResumed, OperatorAction
from tenax.store.connect import Connection
from tenax.store.journal import Journal
from tenax.store.rows import ExecutionRow
from tenax.store.schedules.delayed_starts import end_delays
from tenax.store.tables import live_items
from tenax.store.tables.executions import find_descendants

TRIES = 5  # transactions that may fail by a deadlock before the error is raised


@dataclass(frozen=True, slots=True)
class _Family:
    """Holds an execution and all its open descendants. All are locked."""

    context: EngineContext
    tx: Connection
    journal: Journal
    head: ExecutionRow
    open: list[ExecutionRow]
    actor: str
    reason: str | None
    mark: Mark | None = None
    by_person: bool = True

    def log(self, row: ExecutionRow, action: str) -> None:
        """Logs the operator's action. The events of descendants name the execution that the operator named."""
        because_of = self.head.id if row.id != self.head.id else UNSET
        bulk = UNSET if self.mark is None or self.mark.job_id is None else self.mark.job_id
        data = OperatorData(
            action=action, actor=self.actor, reason=self.reason, because_of=because_of, bulk=bulk
        )
        logged = event(OperatorAction, data=data)
        if self.by_person and self.mark is None and row.id == self.head.id:
            self.journal.log_action(row.id, logged)
        else:
            self.journal.log(row.id, logged)


async def cancel(
    context: EngineContext,
    execution_id: int,
    *,
    actor: str,
    reason: str | None,
    mark: Mark | None = None,
) -> bool:
    """Cancels an execution and its descendants. Waiting items end at once, and leases are revoked. Returns False if it
    is cancelled already."""
    return await _together(context, execution_id, _cancel, actor, reason, mark)


async def cancel_for_parent(context: EngineContext, execution_id: int, reason: str | None) -> None:
    """Cancels a child that its parent does not need any more. Does nothing if the child has ended."""
    with contextlib.suppress(Conflict):
        await _together(context, execution_id, _cancel, "tenax", reason, None, by_person=False)


async def pause(
    context: EngineContext,
    execution_id: int,
    *,
    actor: str,
    reason: str | None,
    mark: Mark | None = None,
) -> bool:
    """Pauses an execution and its descendants: decisions are still made, but no item is leased. Returns False if it is
    paused already."""
    return await _together(context, execution_id, _pause, actor, reason, mark)


async def resume(
    context: EngineContext,
    execution_id: int,
    *,
    actor: str,
    reason: str | None,
    mark: Mark | None = None,
) -> bool:
    """Resumes an execution and its descendants: held-back items may be leased again. Returns False if it was not
    paused."""
    return await _together(context, execution_id, _resume, actor, reason, mark)


async def _together(
    context: EngineContext,
    execution_id: int,
    act: Callable[[_Family], Awaitable[bool]],
    actor: str,
    reason: str | None,
    mark: Mark | None,
    *,
    by_person: bool = True,
) -> bool:
    """Applies `act` to a locked family. Locks are taken in the order of the ids. A child that is being started may
    cause a deadlock, and then it is tried again."""
    for left in reversed(range(TRIES)):
        try:
            async with context.transaction() as tx:
                family = await _lock(context, tx, execution_id, actor, reason, mark)
                family = family if by_person else replace(family, by_person=False)
                changed = await act(family)
                await family.journal.write(tx)
                if mark is not None and changed:
                    await mark.set(tx)
        except ResultsRecorded as recorded:
            await settle_recorded(context, recorded.found)
            continue
        except Busy:
            if not left:
                raise
            continue
        announce(context.notifier, family.journal)
        context.notifier.announce(ready=True, server_steps=True)
        return changed
    raise Busy(f"execution {execution_id} is changing all the time", remedy="try it again")


async def _lock(
    context: EngineContext,
    tx: Connection,
    execution_id: int,
    actor: str,
    reason: str | None,
    mark: Mark | None,
) -> _Family:
    """Locks the family. A child is started under its parent's lock, so all are locked once no new one appears."""
    rows: dict[int, ExecutionRow] = {}
    while missing := [id_ for id_ in await find_descendants(tx, execution_id) if id_ not in rows]:
        locked, now = await live_items.lock_executions(tx, missing)
        if now is None:
            raise no_execution(execution_id)
        rows |= locked
    assert now is not None
    is_open = [row for row in rows.values() if row.open]
    return _Family(context, tx, Journal(now), rows[execution_id], is_open, actor, reason, mark)


async def _cancel(family: _Family) -> bool:
    """Cancels the open executions. An ended one stays as it is, but a child that a failed parent left running is
    cancelled through it."""
    head = family.head
    if not family.open:
        if head.state == "cancelled":
            return False
        raise Conflict(f"execution {head.id} is {head.state}: there is nothing to cancel")
    for row in family.open:
        family.log(row, "cancel")
    await cancel_items(family.tx, family.journal, [row.id for row in family.open], running_too=True)
    message = family.reason or f"cancelled by {family.actor}"
    failure = {"class": "cancelled", "reason": "cancelled_on_request", "message": message}
    for row in family.open:
        row.become("cancelled")
        if row.compensation is not None:
            row.compensation = "cancelled"
        family.journal.execution(row, failure=failure)
        family.journal.ended_fan_outs.append(row.id)
        data = CancelledData(actor=family.actor, reason=family.reason)
        family.journal.log(row.id, event(ExecutionCancelled, data=data))
    return True


async def _pause(family: _Family) -> bool:
    head = family.head
    if not head.open:
        raise Conflict(f"execution {head.id} is {head.state}: there is nothing to pause")
    running = [row for row in family.open if row.state == "running"]
    await _switch(family, running, "paused")
    return head in running


async def resume_delayed(context: EngineContext, execution_id: int) -> bool:
    """Starts an execution whose start was delayed. Returns False if it was not paused any more."""
    return await _together(
        context, execution_id, _resume, DELAY_ACTOR, "its start is due", None, by_person=False
    )


async def _resume(family: _Family) -> bool:
    head = family.head
    if not head.open:
        raise Conflict(f"execution {head.id} is {head.state}: there is nothing to resume")
    paused = [row for row in family.open if row.state == "paused"]
    await _switch(family, paused, "running")
    await end_delays(family.tx, [row.id for row in paused])
    return head in paused


async def _switch(family: _Family, rows: list[ExecutionRow], state: str) -> None:
    paused = state == "paused"
    for row in rows:
        family.log(row, "pause" if paused else "resume")
        row.become(state)
        family.journal.execution(row)
        family.journal.log(row.id, event(ExecutionPaused if paused else ExecutionResumed))
    plans = await family.context.plans.load(family.tx, {row.plan_id for row in rows})
    await live_items.pause_items(family.tx, [row.id for row in rows], plans, paused=paused)
