"""Recovers open executions, at start-up and by sweeps. Each has something that will wake it, or is repaired."""

from __future__ import annotations

import structlog

from tenax.engine.context import EngineContext
from tenax.engine.graph.advance import advance_executions
from tenax.engine.graph.compensation import write
from tenax.engine.graph.end_execution import fail_execution, failure_of, render_results
from tenax.engine.graph.execution_update import ExecutionUpdate
from tenax.engine.graph.fan_out import close_fan_outs
from tenax.engine.graph.rebuild_items import ended_step, lost_item, ready_steps
from tenax.engine.graph.start_steps import queued_item, start_steps
from tenax.engine.recover.repair_fan_outs import rebuild_fan_out, repair_fan_outs
from tenax.errors import Unreachable
from tenax.model.changes import StepRow
from tenax.model.events import event
from tenax.model.events.data import ActivatedData
from tenax.model.events.types import ExecutionActivated, ItemHeld, StepEnqueued
from tenax.model.state.execution import ExecutionState, fold
from tenax.policy.plan import Plan
from tenax.settings import Settings
from tenax.store import service
from tenax.store.connect import Connection
from tenax.store.journal import Journal
from tenax.store.tables import inbox, live_items
from tenax.store.tables.executions import OpenExecution, find_open_executions
from tenax.store.tables.fan_outs import restore_items
from tenax.store.tables.log import get_events
from tenax.store.tables.steps import ended_steps

BATCH = 200  # executions that one transaction checks
_OVER = ("completed", "failed", "skipped", "unreachable")
_LIVE = ("queued", "running", "retrying", "held")
_log = structlog.get_logger("tenax.recover")


class Recovery:
    """Goes through the open executions part by part, repeatedly. The cost grows with the open executions and not with history."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context
        self._after = 0

    async def sweep(self, most: int) -> list[int]:
        """Checks up to `most` executions, from where the last sweep stopped. Returns the repaired ones."""
        repaired: list[int] = []
        for _ in range(-(-most // BATCH)):
            async with self._context.transaction() as tx:
                found = await find_open_executions(tx, self._after, BATCH)
                plans = await self._context.plans.load(tx, {execution.plan_id for execution in found})
            for execution in found:
                missing = execution.plan_id in plans and _is_missing_something(
                    plans[execution.plan_id], execution
                )
                if missing and await _repair_safely(self._context, execution.id):
                    repaired.append(execution.id)
            self._after = found[-1].id if len(found) == BATCH else 0
            if self._after == 0:
                break
        if repaired:
            self._context.notifier.announce(
                ready=True, server_steps=True, messages=True, due_in=0.0, executions=repaired
            )
        return repaired

    async def repair_waits(self) -> None:
        """Repairs waits for a slot of a fan-out or for a child that nothing would end."""
        repaired = await repair_fan_outs(self._context)
        async with self._context.transaction() as tx:
            unheard = await inbox.find_unheard_children(tx)
            if unheard:
                _log.warning(
                    "the parents of ended children had not been told; they are told now", children=unheard
                )
                await inbox.announce_endings(tx, unheard, await service.now(tx))
        if repaired or unheard:
            self._context.notifier.announce(
                ready=True, server_steps=True, messages=True, due_in=0.0, executions=repaired
            )


def _is_missing_something(plan: Plan, execution: OpenExecution) -> bool:
    """Returns whether a step that should be queued, running or waiting has no work item, or the execution should have
    ended."""
    if plan.single or execution.compensation is not None:
        return not execution.live
    ended = execution.done | execution.lost
    met = execution.done | {name for name in execution.lost if plan.steps[name].forgiven}
    startable = (
        name
        for name, planned in plan.steps.items()
        if name not in ended and met.issuperset(planned.step.needs)
    )
    return len(ended) == len(plan.steps) or any(name not in execution.live for name in startable)


async def _repair_safely(context: EngineContext, execution_id: int) -> bool:
    try:
        return await _repair(context, execution_id)
    except Unreachable:
        raise
    except Exception:  # noqa: BLE001 -- one broken execution is reported and does not stop the others
        _log.exception("an execution cannot be repaired", execution_id=execution_id)
        return False


async def _repair(context: EngineContext, execution_id: int) -> bool:
    async with context.transaction() as tx:
        rows, now = await live_items.lock_executions(tx, [execution_id])
        found = await find_open_executions(tx, execution_id - 1, 1)
        if now is None or not found or found[0].id != execution_id:
            return False
        seen = found[0]
        row = rows[execution_id]
        plan = await context.plans.one(tx, row.plan_id)
        if not _is_missing_something(plan, seen):
            return False
        journal = Journal(now, max_result_bytes=context.settings.max_rendered)
        if row.failing:
            journal.failing[row.id] = row
            await write(tx, context, journal)
            return True
        state = fold(await get_events(tx, execution_id), list(plan.steps))
        journal.log(
            execution_id,
            event(ExecutionActivated, data=ActivatedData(reason="a work item of it was missing")),
        )
        _log.warning(
            "an open execution lacked a work item; it is repaired from its events", execution_id=execution_id
        )
        await _rebuild(
            tx, journal, ExecutionUpdate(row, plan, context.rendering), state, seen.live, context.settings
        )
        await write(tx, context, journal)
    return True


async def _rebuild(
    tx: Connection,
    journal: Journal,
    update: ExecutionUpdate,
    state: ExecutionState,
    there: frozenset[str],
    settings: Settings,
) -> None:
    """Writes the rows that the events ask for: for each step its end, its counter, or its work item if that is missing.

    A restored item keeps its used attempts and its due time: a repair grants no attempts. A running item counts as
    lost.
    """
    row, plan = update.row, update.plan
    over = {name: ended_step(row.id, step) for name, step in state.steps.items() if step.status in _OVER}
    stored = {step.step for step in await ended_steps(tx, row.id, most=0)}
    for ended in over.values():
        if not plan.single and ended.step not in stored:
            journal.step(ended)
    live = [name for name, step in state.steps.items() if step.status in _LIVE and name not in there]
    row.open_steps = len(plan.steps) - len(over)
    journal.execution(row)
    rebuilt = []
    for name in live:
        step = state.steps[name]
        if plan.steps[name].for_each is None:
            item = await queued_item(tx, journal, update, plan.steps[name])
            if step.attempt:
                await restore_items(tx, item, [lost_item(plan.steps[name], step, journal.now, settings)])
            else:
                journal.new_items.append(item)
            held = step.status == "held"
            journal.log(row.id, event(ItemHeld if held else StepEnqueued, name))
        else:
            rebuilt.append(await rebuild_fan_out(tx, journal, update, name, step, settings))
    await close_fan_outs(tx, journal, lambda _: update, rebuilt)
    fresh = await start_steps(tx, journal, update, ready_steps(journal, update, over, {*live, *there}))
    update.ended += fresh
    if update.ended:
        await advance_executions(tx, journal, [update])
    elif row.open_steps == 0:
        await _end(tx, journal, update, over)


async def _end(tx: Connection, journal: Journal, update: ExecutionUpdate, over: dict[str, StepRow]) -> None:
    lost = [
        over[name]
        for name in sorted(update.plan.goals)
        if over[name].state == "unreachable"
        or (over[name].state == "failed" and not update.plan.steps[name].forgiven)
    ]
    if lost:
        fail_execution(journal, update.row, update.plan, failure_of(lost[0]))
    else:
        update.ended = list(over.values())
        await render_results(tx, journal, [update])
