"""Opens ended steps again: of a failed execution, which then runs again, or of an open one.

The events say what starts again. The rows are then rebuilt from the events, as recovery does it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal

from msgspec import UNSET
from msgspec.structs import replace

from tenax.engine.context import EngineContext
from tenax.engine.graph.end_execution import failure_of
from tenax.engine.graph.execution_update import ExecutionUpdate
from tenax.engine.graph.rebuild_items import ended_step, lost_item, ready_steps, restore_fan_out_items
from tenax.engine.graph.start_steps import queued_item, start_steps
from tenax.engine.slices import TimeSlice
from tenax.model.changes import StepRow
from tenax.model.decision import Ledger, as_builtins
from tenax.model.events import event, timestamp
from tenax.model.events.data import ReopenedData, RescheduledData, StartedData, UnreachableData
from tenax.model.events.parts import EventData, ParentRecord, RetryCount, WaitingRecord
from tenax.model.events.types import (
    ActionStarted,
    ExecutionReopened,
    RetryRescheduled,
    StepEnqueued,
    StepUnreachable,
)
from tenax.model.events.types import Event as EventType
from tenax.model.execution_views import Event
from tenax.model.json_text import encode
from tenax.model.letters.letter import LetterPlace
from tenax.model.state.attempt import WorkState
from tenax.model.state.execution import ExecutionState, apply
from tenax.policy.letters import letter_moved
from tenax.policy.plan import Plan
from tenax.policy.reopening import Reopening, Wanted, lost_goal, reopening
from tenax.policy.retry.ledger import granted_one_more, reset_ledger
from tenax.store.connect import Connection
from tenax.store.journal import Journal
from tenax.store.rows import ExecutionRow
from tenax.store.tables import live_items
from tenax.store.tables.fan_outs import LostItem, load_fan_outs, reopen_fan_out, restore_items
from tenax.store.tables.reopening import adopt_child, reopen_execution
from tenax.store.tables.steps import ended_steps

How = Literal["grant", "reset", "keep"]
"""The change of the ledger of a failed item. `grant`: it gets one more attempt. `reset`: its counts start from 0.
`keep`: none."""
ItemKey = tuple[str, int | None]
_OVER = ("completed", "failed", "skipped", "unreachable")
_LIVE = ("queued", "running", "retrying", "held")


@dataclass(slots=True)
class ReopenRequest:
    """Says which steps of one locked execution start again, and how."""

    row: ExecutionRow
    plan: Plan
    state: ExecutionState
    wanted: dict[str, frozenset[int] | None]
    how: How
    actor: str
    adopts: dict[ItemKey, int] = field(default_factory=dict)
    """The children that failed items wait for again, instead of starting others."""
    parent: ParentRecord | None = None
    """The attempt of its parent that waits for this execution again."""
    was_closed: bool = False
    """The execution had failed, and runs again."""
    because_of: int | None = None
    """The execution that the operator named, if that is another one."""


async def reopen(
    tx: Connection, context: EngineContext, journal: Journal, request: ReopenRequest
) -> ExecutionUpdate:
    """Writes what starts again, and logs it. The journal must be written before the graph goes on."""
    return await _Reopen(tx, context, journal, request).run()


class _Reopen:
    def __init__(
        self, tx: Connection, context: EngineContext, journal: Journal, request: ReopenRequest
    ) -> None:
        self._tx = tx
        self._context = context
        self._journal = journal
        self._request = request
        self._row, self._plan, self._state = request.row, request.plan, request.state
        self._before = request.state.status
        self._ended_as = {name: step.status for name, step in request.state.steps.items()}
        self._time_slice = TimeSlice()

    async def run(self) -> ExecutionUpdate:
        found = reopening(self._plan, self._state, self._request.wanted, await self._without_rows())
        await self._open_execution(found)
        for name, items in found.steps.items():
            await self._log_items(name, items)
        for name, cause in found.cut_off.items():
            self._log(StepUnreachable, name, data=UnreachableData(cause=cause))
            self._journal.step(StepRow(self._row.id, name, "unreachable", failure={"cause": cause}))
        return await self._rebuild(found)

    async def _without_rows(self) -> frozenset[str]:
        """Returns the fan-outs that were cancelled in the transaction that would have inserted them."""
        names = [name for name, step in self._state.steps.items() if step.fan_out is not None]
        stored = await load_fan_outs(self._tx, [(self._row.id, name) for name in names]) if names else {}
        return frozenset(name for name in names if (self._row.id, name) not in stored)

    # -- events

    async def _open_execution(self, found: Reopening) -> None:
        row, request = self._row, self._request
        ended = [name for name in found.steps if self._ended_as[name] in (*_OVER, "cancelled")]
        listed = list(found.steps) if self._before == "failed" else ended
        failure = await self._failure_that_stays(found)
        deadline_at = self._new_deadline()
        if self._before == "failed":
            row.become("running")
            # It may have been paused before it failed, with items that still run.
            await live_items.pause_items(self._tx, [row.id], {row.plan_id: self._plan}, paused=False)
        elif not listed and not found.pending:
            return  # an item of a fan-out that still runs
        row.failure = None if failure is None else encode(failure)
        steps = [*listed, *found.pending]
        await reopen_execution(self._tx, row.id, steps, row.failure, deadline_at)
        data = ReopenedData(
            steps=listed,
            pending=found.pending,
            actor=request.actor,
            because_of=UNSET if request.because_of is None else request.because_of,
            failure=UNSET if failure is None else failure,
            deadline_at=UNSET if deadline_at is None else deadline_at,
            parent=UNSET if request.parent is None else request.parent,
        )
        self._log(ExecutionReopened, data=data)

    async def _failure_that_stays(self, found: Reopening) -> dict[str, Any] | None:
        name = lost_goal(self._plan, found)
        if name is None:
            return None
        rows = {step.step: step for step in await ended_steps(self._tx, self._row.id, most=0)}
        return failure_of(rows.get(name) or ended_step(self._row.id, self._state.steps[name]))

    def _new_deadline(self) -> Any:
        """Returns a deadline that starts anew, if the execution's has passed."""
        limit, row, now = self._plan.workflow.deadline, self._row, self._journal.now
        if limit is None or row.deadline_at is None or row.deadline_at > now:
            return None
        row.deadline_at = now + timedelta(seconds=limit)
        return row.deadline_at

    async def _log_items(self, name: str, items: frozenset[int] | None) -> None:
        step = self._state.steps[name]
        if step.fan_out is None:
            self._log_item(name, None, step)
            return
        cancelled = {number for number, item in step.items.items() if item.status == "cancelled"}
        for number in sorted(cancelled | (items or frozenset())):
            if self._time_slice.is_over:
                await self._time_slice.give_way()
            self._log_item(name, number, step.items[number])

    def _log_item(self, name: str, number: int | None, work: WorkState) -> None:
        was = self._was(name, work)
        if not work.attempt:
            if number is None:
                self._log(StepEnqueued, name)
            else:
                moved = RescheduledData(available_at=self._journal.now, actor=self._request.actor, was=was)
                self._log(RetryRescheduled, name, number, 0, moved)
            return
        moved = RescheduledData(
            available_at=self._journal.now,
            actor=self._request.actor,
            was=was,
            ledger=self._ledger(work, was),
            reset=True if self._request.how == "reset" else UNSET,
        )
        self._log(RetryRescheduled, name, number, work.attempt, moved)
        if was == "failed":
            place = LetterPlace(self._row.id, name, number, compensates=False)
            self._journal.letters.add(letter_moved(place, "redriven"))
        child = self._request.adopts.get((name, number))
        if child is not None:
            self._log_adoption(name, number, work, child)

    def _was(self, name: str, work: WorkState) -> str:
        """Returns the state in which the item had ended. In the fold of a step the item is open again by now."""
        return self._ended_as[name] if work is self._state.steps[name] else work.status

    def _ledger(self, work: WorkState, was: str) -> Ledger:
        ledger = Ledger.from_dict(work.ledger or {"counted": work.counted}, elapsed=0.0)
        if self._request.how == "reset":
            return reset_ledger(ledger, reopens=True)
        if self._request.how == "grant" and was == "failed":
            return granted_one_more(ledger)
        return replace(ledger, reopened=ledger.reopened + 1)

    def _log_adoption(self, name: str, number: int | None, work: WorkState, child: int) -> None:
        """Begins an attempt that waits for a child which an earlier attempt started."""
        action = self._plan.steps[name]
        timeout, attempt = action.step.timeout, work.attempt + 1
        until = None if timeout is None else self._journal.now + timedelta(seconds=timeout)
        started = StartedData(
            worker=None,
            retry=RetryCount(attempt=attempt, max_attempts=action.policy.policy.max_attempts, is_retry=True),
            waiting=WaitingRecord(for_="child", deadline_at=UNSET if until is None else until),
            child=child,
            adopted=True,
        )
        self._log(ActionStarted, name, number, attempt, started)

    def _log(
        self,
        kind: type[EventType],
        step: str | None = None,
        item: int | None = None,
        attempt: int | None = None,
        data: EventData | None = None,
    ) -> None:
        """Logs an event, and takes it into the state from which the rows are rebuilt."""
        body = event(kind, step, item, attempt, data=data)
        self._journal.log(self._row.id, body)
        logged = Event(
            id=0, seq=0, type=body["type"], at=timestamp(self._journal.now), step=step, item=item, attempt=attempt,
            data={} if data is None else as_builtins(data),
        )  # fmt: skip
        apply(self._state, logged)

    # -- rows

    async def _rebuild(self, found: Reopening) -> ExecutionUpdate:
        row, plan, state = self._row, self._plan, self._state
        update = ExecutionUpdate(row, plan, self._context.rendering)
        for name, items in found.steps.items():
            if state.steps[name].fan_out is None:
                await self._restore_item(update, name)
            else:
                await self._restore_fan_out(update, name, sorted(items or ()))
        for (name, number), child in self._request.adopts.items():
            step = state.steps[name]
            await adopt_child(self._tx, child, (step if number is None else step.items[number]).attempt)
        over = {name: ended_step(row.id, step) for name, step in state.steps.items() if step.status in _OVER}
        live = {name for name, step in state.steps.items() if step.status in _LIVE}
        row.open_steps = len(plan.steps) - len(over)
        self._journal.execution(row)
        if not plan.single or found.pending:
            ready = ready_steps(self._journal, update, over, live)
            update.ended += await start_steps(self._tx, self._journal, update, ready)
        return update

    async def _restore_item(self, update: ExecutionUpdate, name: str) -> None:
        planned, step = self._plan.steps[name], self._state.steps[name]
        item = await queued_item(self._tx, self._journal, update, planned)
        now = self._journal.now
        lost = LostItem(None, None, now, now)
        if step.attempt:
            lost = lost_item(planned, step, now, self._context.settings)
        await restore_items(self._tx, item, [lost])

    async def _restore_fan_out(self, update: ExecutionUpdate, name: str, numbers: Sequence[int]) -> None:
        step = self._state.steps[name]
        assert step.fan_out is not None
        key, parallelism = (self._row.id, name), step.fan_out.parallelism
        fan_out = await reopen_fan_out(self._tx, key, numbers, parallelism)
        assert fan_out is not None, "a fan-out without a row is started anew"
        await restore_fan_out_items(self._tx, self._journal, update, fan_out, step, self._context.settings)


__all__ = ["How", "ItemKey", "ReopenRequest", "Wanted", "reopen"]
