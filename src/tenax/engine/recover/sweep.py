"""Recovery, at start-up and as a sweep: every open execution has something that will wake it, or is repaired."""

from __future__ import annotations

import structlog

from tenax.engine.context import Core
from tenax.engine.graph.advance import advance_executions
from tenax.engine.graph.compensation import write
from tenax.engine.graph.end_execution import fail_execution, failure_of, render_results
from tenax.engine.graph.fan_out import close_fans
from tenax.engine.graph.start_steps import queued_item, start_steps
from tenax.engine.graph.turn import Turn
from tenax.engine.recover.repair_fan_outs import lost_item, rebuild_fan_out, repair_fans
from tenax.errors import Unreachable
from tenax.model.changes import StepRow
from tenax.model.events import event
from tenax.model.events.data import ActivatedData
from tenax.model.events.types import ExecutionActivated, ItemHeld, StepEnqueued
from tenax.model.state.execution import ExecutionState, StepState, fold
from tenax.policy.plan import Plan
from tenax.settings import Settings
from tenax.store import service
from tenax.store.connect import Connection
from tenax.store.journal import Journal
from tenax.store.tables import inbox, queue
from tenax.store.tables.executions import OpenExecution, find_open_executions
from tenax.store.tables.fan_outs import restore_items
from tenax.store.tables.log import get_events
from tenax.store.tables.steps import ended_steps

BATCH = 200
_OVER = ("completed", "failed", "skipped", "unreachable")
_LIVE = ("queued", "running", "retrying", "held")
_log = structlog.get_logger("tenax.recover")


class Recovery:
    """Looks through the open executions, a part at a time, round and round. Cost grows with them, not with history."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._after = 0

    async def sweep(self, most: int) -> list[int]:
        """Looks at so many executions, from where it stopped the last time. Returns those it repaired."""
        repaired: list[int] = []
        for _ in range(-(-most // BATCH)):
            async with self._core.transaction() as tx:
                found = await find_open_executions(tx, self._after, BATCH)
                plans = await self._core.plans.load(tx, {execution.plan_id for execution in found})
            for execution in found:
                missing = execution.plan_id in plans and _is_missing_something(
                    plans[execution.plan_id], execution
                )
                if missing and await _repair_safely(self._core, execution.id):
                    repaired.append(execution.id)
            self._after = found[-1].id if len(found) == BATCH else 0
            if self._after == 0:
                break
        if repaired:
            self._core.hub.announce(
                ready=True, server_steps=True, messages=True, due_in=0.0, executions=repaired
            )
        return repaired

    async def repair_waits(self) -> None:
        """What waits for a place in a fan-out, or for a child, must have something that will end its wait."""
        repaired = await repair_fans(self._core)
        async with self._core.transaction() as tx:
            unheard = await inbox.find_unheard_children(tx)
            if unheard:
                _log.warning("children had ended unheard; their parents are told", children=unheard)
                await inbox.announce_endings(tx, unheard, await service.now(tx))
        if repaired or unheard:
            self._core.hub.announce(
                ready=True, server_steps=True, messages=True, due_in=0.0, executions=repaired
            )


def _is_missing_something(plan: Plan, execution: OpenExecution) -> bool:
    """A step that should be queued, running or waiting has no work item; or the execution should have ended."""
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


async def _repair_safely(core: Core, execution_id: int) -> bool:
    try:
        return await _repair(core, execution_id)
    except Unreachable:
        raise
    except Exception:  # noqa: BLE001 -- one broken execution is reported and does not stop the others
        _log.exception("an execution cannot be repaired", execution_id=execution_id)
        return False


async def _repair(core: Core, execution_id: int) -> bool:
    async with core.transaction() as tx:
        rows, now = await queue.lock_executions(tx, [execution_id])
        found = await find_open_executions(tx, execution_id - 1, 1)
        if now is None or not found or found[0].id != execution_id:
            return False
        seen = found[0]
        row = rows[execution_id]
        plan = await core.plans.one(tx, row.plan_id)
        if not _is_missing_something(plan, seen):
            return False
        journal = Journal(now, most_read=core.settings.max_rendered)
        if row.failing:
            journal.failing[row.id] = row
            await write(tx, core, journal)
            return True
        state = fold(await get_events(tx, execution_id), list(plan.steps))
        journal.log(
            execution_id,
            event(ExecutionActivated, data=ActivatedData(reason="a work item of it was missing")),
        )
        _log.warning(
            "an open execution lacked a work item; it is repaired from its events", execution_id=execution_id
        )
        await _rebuild(tx, journal, Turn(row, plan, core.rendering), state, seen.live, core.settings)
        await write(tx, core, journal)
    return True


async def _rebuild(
    tx: Connection,
    journal: Journal,
    turn: Turn,
    state: ExecutionState,
    there: frozenset[str],
    settings: Settings,
) -> None:
    """Writes the rows that the events ask for: for each step its end, its counter, or its work item if that is missing.

    A work item has used up what it had used up, and is due when it was: a repair grants nothing. What was running counts as lost.
    """
    row, plan = turn.row, turn.plan
    over = {name: _ended(row.id, step) for name, step in state.steps.items() if step.status in _OVER}
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
            item = await queued_item(tx, journal, turn, plan.steps[name])
            if step.attempt:
                await restore_items(tx, item, [lost_item(plan.steps[name], step, journal.now, settings)])
            else:
                journal.new_items.append(item)
            held = step.status == "held"
            journal.log(row.id, event(ItemHeld if held else StepEnqueued, name))
        else:
            assert step.fan_out is not None, "a step with `for_each` is queued together with its items"
            rebuilt.append(await rebuild_fan_out(tx, journal, turn, name, step.fan_out, settings))
    await close_fans(tx, journal, lambda _: turn, rebuilt)
    fresh = await start_steps(tx, journal, turn, _ready(journal, turn, over, {*live, *there}))
    turn.ended += fresh
    if turn.ended:
        await advance_executions(tx, journal, [turn])
    elif row.open_steps == 0:
        await _end(tx, journal, turn, over)


def _ready(journal: Journal, turn: Turn, over: dict[str, StepRow], live: set[str]) -> list[str]:
    """Steps that nothing holds back any more; for the others, the count of what they wait for. A step that waits for all of its
    needs has no row."""
    ready: list[str] = []
    for name, planned in turn.plan.steps.items():
        if name in over or name in live:
            continue
        left = [need for need in planned.step.needs if need not in over]
        if not left:
            ready.append(name)
        elif len(left) < len(planned.step.needs):
            journal.step(StepRow(turn.row.id, name, "pending", len(left)))
    return ready


async def _end(tx: Connection, journal: Journal, turn: Turn, over: dict[str, StepRow]) -> None:
    lost = [
        over[name]
        for name in sorted(turn.plan.goals)
        if over[name].state == "unreachable"
        or (over[name].state == "failed" and not turn.plan.steps[name].forgiven)
    ]
    if lost:
        fail_execution(journal, turn.row, turn.plan, failure_of(lost[0]))
    else:
        turn.ended = list(over.values())
        await render_results(tx, journal, [turn])


def _ended(execution_id: int, step: StepState) -> StepRow:
    return StepRow(execution_id, step.step, step.status, 0, step.attempt, step.result, step.failure)
