"""Starts executions: their first rows, events and items, for a submission as for a step that starts a child."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from msgspec import UNSET

from tenax.engine.context import EngineContext
from tenax.engine.graph.advance import advance_executions
from tenax.engine.graph.compensation import write
from tenax.engine.graph.execution_update import ExecutionUpdate
from tenax.engine.graph.paused_workflows import delay_new, pause_new
from tenax.engine.graph.start_steps import start_steps
from tenax.model.definition.workflow import Budget
from tenax.model.events import event
from tenax.model.events.audit import entry_of
from tenax.model.events.data import ExecutionStartedData, OperatorData, StartedData
from tenax.model.events.parts import ParentRecord, RetryCount
from tenax.model.events.types import ActionStarted, ExecutionStarted, OperatorAction
from tenax.model.json_text import decode, encode
from tenax.model.wire import LeaseRequest
from tenax.policy.expressions.meter import WorkBudget
from tenax.policy.plan import Plan
from tenax.store.budgets.budgets import NewBudget, insert_budgets
from tenax.store.connect import Connection
from tenax.store.dispatch.claims import new_tokens
from tenax.store.journal import Journal
from tenax.store.rows import ExecutionRow, NewExecution, NewLease, ParentItem
from tenax.store.tables.executions import prepare_submit
from tenax.store.tables.new_executions import InsertedExecution, insert_executions

OWN_KEYS = "tenax:"
"""Prefix of the keys that the server gives to children."""


@dataclass(frozen=True, slots=True)
class Start:
    """Is one execution to start. Its plan is known and its inputs are checked."""

    plan: Plan
    plan_id: int
    input: Mapping[str, Any] = field(default_factory=dict)
    key: str | None = None
    base_dir: str | None = None
    retry_of: int | None = None
    original_execution: int | None = None
    operator: OperatorData | None = None
    """The person who asked for it and the reason, if a person did."""
    parent: ParentItem | None = None
    """The step that starts it as a child."""
    tree: int | None = None
    """Its parent, if that belongs to a tree with a budget."""
    budget: Budget | None = None
    """The rest of the budget of the step that starts the execution."""
    id: int | None = None
    """The id that `tenax.submit` has given it already."""
    start_at: datetime | None = None
    """When its first steps start. None: now, or after `start_in`."""
    start_in: float | None = None
    """Seconds after which its first steps start."""

    @property
    def is_delayed(self) -> bool:
        return self.start_at is not None or self.start_in is not None

    def starts_at(self, now: datetime) -> datetime:
        """Returns when its first steps start."""
        return max(now, self.start_at or now) + timedelta(seconds=self.start_in or 0.0)

    @property
    def limits(self) -> Budget | None:
        """The limits of its tree. Each is the smaller of its own and that of the step that starts it."""
        own, given = self.plan.workflow.budget, self.budget
        if own is None or given is None:
            return own or given
        cost = min((one.cost_usd for one in (own, given) if one.cost_usd is not None), default=None)
        return Budget(cost, min((one.tokens for one in (own, given) if one.tokens is not None), default=None))

    @property
    def budgeted(self) -> bool:
        return self.tree is not None or self.limits is not None


async def insert_keyed(tx: Connection, context: EngineContext, now: datetime, start: Start) -> int:
    """Inserts an execution with a key in the transaction of what starts it: a child in that of its step, for example. A
    second start with the key gets the same execution."""
    prepared = await prepare_submit(tx, 1, [start.key])
    if prepared.known:
        return next(iter(prepared.known.values()))
    await insert(tx, context, now, [(prepared.ids[0], start)])
    return prepared.ids[0]


async def insert(
    tx: Connection,
    context: EngineContext,
    now: datetime,
    new: Sequence[tuple[int, Start]],
    request: LeaseRequest | None = None,
) -> dict[int, InsertedExecution]:
    """Writes the executions. Returns the inserted ones by number: the keys of the others were taken. `request` is the
    lease request that the only item goes to."""
    journal = Journal(now, max_result_bytes=context.settings.max_rendered)
    rows: list[NewExecution] = []
    for number, start in new:
        parent = start.parent
        row = ExecutionRow(
            number, start.plan_id, "running", len(start.plan.steps), start.base_dir, start.retry_of,
            start.original_execution, now, None, parent.execution_id if parent is not None else None,
            lane=parent.lane if parent is not None else 0, budgeted=start.budgeted, input=start.input,
        )  # fmt: skip
        await _begin(tx, journal, row, start, context.rendering)
        ended = journal.executions.get(number)
        rows.append(_new_execution(row if ended is None else ended[0], start, now))
    if request is not None:
        _lease_at_once(journal, request)
    inputs = [encode(start.input) if start.input else None for _, start in new]
    inserted = await insert_executions(tx, journal, rows, inputs, context.terms)
    if any(start.budgeted for _, start in new):
        await _insert_budgets(tx, [(number, start) for number, start in new if number in inserted])
    context.input_cache.note({one.id: one.input for one in inserted.values()})
    failing = {id_: row for id_, row in journal.failing.items() if id_ in inserted}
    if any(start.is_delayed for _, start in new):
        await _delay(tx, now, [(number, start) for number, start in new if number in inserted])
    if context.workflow_pauses:
        plans = {inserted[number].id: start.plan for number, start in new if number in inserted}
        await pause_new(tx, context, {id_: plan for id_, plan in plans.items() if id_ not in failing})
    if failing:  # nothing has run, so nothing is undone, but these executions must end
        await write(tx, context, Journal(now, failing=failing))
    return inserted


async def _insert_budgets(tx: Connection, new: Sequence[tuple[int, Start]]) -> None:
    rows = []
    for number, start in new:
        if start.budgeted:
            limits = start.limits or Budget()
            rows.append(
                NewBudget(number, start.tree, start.plan.workflow.name, limits.cost_usd, limits.tokens)
            )
    if rows:
        await insert_budgets(tx, rows)


async def _delay(tx: Connection, now: datetime, new: Sequence[tuple[int, Start]]) -> None:
    """Keeps back the executions that start later."""
    delayed = {number: start for number, start in new if start.is_delayed and start.starts_at(now) > now}
    plans = {number: start.plan for number, start in delayed.items()}
    await delay_new(tx, {number: start.starts_at(now) for number, start in delayed.items()}, plans)


def _new_execution(row: ExecutionRow, start: Start, now: datetime) -> NewExecution:
    deadline = start.plan.workflow.deadline
    if deadline is not None and start.is_delayed:
        deadline += (start.starts_at(now) - now).total_seconds()
    return NewExecution(
        number=row.id,
        plan_id=start.plan_id,
        open_steps=row.open_steps,
        state=row.state,
        submit_key=start.key,
        base_dir=start.base_dir,
        retry_of=start.retry_of,
        original_execution=start.original_execution,
        deadline=deadline,
        parent=start.parent,
        budgeted=start.budgeted,
    )


def _lease_at_once(journal: Journal, request: LeaseRequest) -> None:
    """Leases the only new item to the waiting request, and logs the same events as the lease of a queued item."""
    [item] = journal.new_items
    item.lease = NewLease(request.worker, request.grant, new_tokens(1)[0])
    retry = RetryCount(attempt=1, max_attempts=item.max_attempts, is_retry=False)
    vary = decode(item.vary) if item.vary is not None else UNSET
    data = StartedData(worker=request.worker, retry=retry, vary=vary)
    journal.log(item.execution_id, event(ActionStarted, item.step, attempt=1, data=data))


def _started(start: Start) -> ExecutionStartedData:
    parent, again = start.parent, start.retry_of is not None
    return ExecutionStartedData(
        workflow=start.plan.workflow.name,
        input=dict(start.input) if start.input else UNSET,
        parent=UNSET if parent is None else ParentRecord(
            execution_id=parent.execution_id, step=parent.step, item=parent.item, attempt=parent.attempt
        ),
        retry_of=UNSET if start.retry_of is None else start.retry_of,
        original_execution=start.original_execution if again and start.original_execution is not None else UNSET,
        reason="manual_retry" if again else UNSET,
    )  # fmt: skip


async def _begin(
    tx: Connection, journal: Journal, row: ExecutionRow, start: Start, budget: WorkBudget
) -> None:
    """Logs the first events and queues the first items: those of the steps that wait for nothing."""
    plan = start.plan
    journal.log(row.id, event(ExecutionStarted, data=_started(start)))
    if start.operator is not None:
        again = event(OperatorAction, data=start.operator)
        journal.log(row.id, again)
        journal.audited.append(entry_of(again, start.retry_of, execution=row.id))
    update = ExecutionUpdate(row, plan, budget)
    update.ended += await start_steps(tx, journal, update, plan.roots)
    if update.ended:
        await advance_executions(tx, journal, [update])
