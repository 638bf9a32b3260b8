"""Retries executions for operators: retry now, or retry as a new execution."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import UNSET

from tenax.engine.context import EngineContext, no_execution
from tenax.engine.graph.start_execution import Start
from tenax.engine.graph.template_scope import know_inputs
from tenax.engine.operate.bulk_mark import BulkMark
from tenax.engine.slices import TimeSlice
from tenax.errors import Conflict
from tenax.model.changes import ItemAgain, StepRow
from tenax.model.events import event
from tenax.model.events.data import OperatorData, ReleasedRetryData, RescheduledData
from tenax.model.events.types import OperatorAction, RetryReleased, RetryRescheduled
from tenax.policy.graph import topological_order
from tenax.policy.plan import Plan
from tenax.policy.queued_action import queue_deadline
from tenax.policy.transitions import check
from tenax.store.connect import Connection
from tenax.store.journal import Journal
from tenax.store.rows import ExecutionRow
from tenax.store.tables import executions, live_items
from tenax.store.tables.fan_outs import load_open_fan_outs
from tenax.store.tables.steps import ended_steps, load_within

CARRIED_TOGETHER = 4
"""Bytes of results that a new execution takes over from the one that it retries, in multiples of `max_rendered`."""


async def retry_now(
    context: EngineContext,
    execution_id: int,
    *,
    actor: str,
    reason: str | None,
    mark: BulkMark | None = None,
) -> list[str]:
    """Starts items that wait for their next attempt. Returns the steps that were waiting."""
    async with context.transaction() as tx:
        row, now = await _locked(tx, execution_id)
        items = [item for item in await live_items.lock_open_items(tx, [row.id], running_too=False)
                 if item.state in ("retrying", "held")]  # fmt: skip
        if not items:
            raise Conflict(
                f"execution {execution_id} has no step that waits for a retry",
                remedy="`tenax show` says what it is doing",
            )
        plan = await context.plans.one(tx, row.plan_id)
        journal = Journal(now)
        bulk = UNSET if mark is None else mark.job_id
        data = OperatorData(action="retry_now", actor=actor, reason=reason, bulk=bulk)
        journal.log(row.id, event(OperatorAction, data=data))
        time_slice = TimeSlice()
        for item in items:
            if time_slice.is_over:
                await time_slice.give_way()
            compensation = True if item.compensates else UNSET
            moved = RescheduledData(available_at=now, actor=actor, compensation=compensation)
            if item.state == "held":
                released = ReleasedRetryData(
                    available_at=now, actor=actor, reason=reason, compensation=compensation
                )
                journal.log(
                    row.id,
                    event(RetryReleased, item.step, item=item.item_no, attempt=item.attempt, data=released),
                )
            journal.log(
                row.id,
                event(RetryRescheduled, item.step, item=item.item_no, attempt=item.attempt, data=moved),
            )
            check("item", item.state, "retrying")
            step = plan.action(item.step, compensates=item.compensates).step
            expires_at = queue_deadline(step, now)
            journal.items_again.append(
                ItemAgain(item.id, row.id, item.step, item.item_no, "retrying", now, expires_at, item.attempt)
            )
        for fan_out in await load_open_fan_outs(tx, [row.id]):
            journal.fan_outs[fan_out.execution_id, fan_out.step] = fan_out
        await journal.write(tx)
        if mark is not None:
            await mark.set(tx)
    context.notifier.announce(ready=True, server_steps=True, executions=[execution_id])
    return list(dict.fromkeys(item.step for item in items))


async def retry_anew(
    context: EngineContext, execution_id: int, *, actor: str, reason: str | None, from_failed: bool
) -> Start:
    """Starts a finished execution again as a new one that is linked to it. With `from_failed` the steps that succeeded
    are taken over."""
    async with context.transaction() as tx:
        row, _ = await _locked(tx, execution_id)
        if row.open:
            raise Conflict(f"execution {execution_id} is {row.state}: only a finished one can be run anew")
        if from_failed and row.state == "completed":
            raise Conflict(f"execution {execution_id} has completed: there is no failed step to retry from")
        plan = await context.plans.one(tx, row.plan_id)
        await know_inputs(tx, [row])
        carried: list[StepRow] = []
        if from_failed:
            ended = await ended_steps(tx, execution_id, most=0)
            kept = await _kept(plan, ended, undone=row.compensation is not None)
            carried = await _with_results(tx, kept, context.settings.max_rendered)
        return Start(
            plan=plan,
            plan_id=row.plan_id,
            input=row.input or {},
            base_dir=row.base_dir,
            retry_of=execution_id,
            original_execution=row.original_execution or execution_id,
            operator=OperatorData(action="retry", actor=actor, reason=reason, from_failed=from_failed),
            carried=tuple(carried),
        )


async def _with_results(tx: Connection, kept: Sequence[StepRow], most: int) -> list[StepRow]:
    """Loads the results of the steps that are taken over. Each of them, and all together, are limited."""
    together = CARRIED_TOGETHER * most
    found = await load_within(tx, [(step.execution_id, step.step) for step in kept], together, most)
    rows = [found[step.execution_id, step.step] for step in kept]
    large = next((step for step in rows if step.left_out is not None), None)
    if large is None:
        return rows
    size = sum((large.left_out or {}).values())
    what = (
        f"step {large.step} has {size:,} bytes of results, which is more than a new execution can take over"
        if size > most
        else f"the steps that are done have more than {together:,} bytes of results together, which a new execution cannot take over"
    )
    raise Conflict(f"{what} (`max_rendered`)", remedy="run all of it anew, without `from_failed`")


async def _kept(plan: Plan, ended: Sequence[StepRow], *, undone: bool) -> list[StepRow]:
    """Returns the steps to take over, in the order of the graph: no compensated step, and no step behind one."""
    time_slice = TimeSlice()
    done = {s.step: s for s in ended if s.state in ("completed", "skipped")}
    anew = set(plan.compensated) if undone else set()
    kept: list[StepRow] = []
    for name in topological_order(plan.workflow):
        if time_slice.is_over:
            await time_slice.give_way()
        if name not in done or name in anew or anew.intersection(plan.steps[name].step.needs):
            anew.add(name)
        else:
            kept.append(done[name])
    return kept


async def is_execution_open(context: EngineContext, execution_id: int) -> bool:
    async with context.transaction() as tx:
        row = await executions.get_execution(tx, execution_id)
    if row is None:
        raise no_execution(execution_id)
    return row.open


async def _locked(tx: Connection, execution_id: int) -> tuple[ExecutionRow, datetime]:
    rows, now = await live_items.lock_executions(tx, [execution_id])
    if now is None:
        raise no_execution(execution_id)
    return rows[execution_id], now
