"""Starts executions: their first rows, events and items, for a submission as for a step that starts a child."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from tenax.engine.context import Core
from tenax.engine.graph.advance import advance_executions
from tenax.engine.graph.compensation import write
from tenax.engine.graph.start_steps import start_steps
from tenax.engine.graph.turn import Turn
from tenax.engine.slices import Turns
from tenax.model.changes import StepRow
from tenax.model.events import event
from tenax.model.events.data import ExecutionStartedData, OperatorData, StartedData
from tenax.model.events.parts import ParentRecord, RetryCount
from tenax.model.events.types import (
    ActionStarted,
    ExecutionStarted,
    OperatorAction,
    StepCompleted,
    StepSkipped,
)
from tenax.model.json_text import decode, encode
from tenax.model.wire import LeaseRequest
from tenax.policy.expressions.meter import Budget
from tenax.policy.plan import Plan
from tenax.store.connect import Connection
from tenax.store.journal import Journal
from tenax.store.rows import ExecutionRow, NewExecution, NewLease, Parent
from tenax.store.tables.claims import new_tokens
from tenax.store.tables.executions import prepare_submit
from tenax.store.tables.fan_outs import copy_item_results
from tenax.store.tables.new_executions import Inserted, insert_executions

OWN_KEYS = "tenax:"
"""What the keys begin with that the server gives to children."""


@dataclass(frozen=True, slots=True)
class Start:
    """One execution to be started: its plan known, its inputs checked."""

    plan: Plan
    plan_id: int
    input: Mapping[str, Any] = field(default_factory=dict)
    key: str | None = None
    base_dir: str | None = None
    retry_of: int | None = None
    original_execution: int | None = None
    operator: OperatorData | None = None
    """Who asked for it and why, where a person did."""
    carried: tuple[StepRow, ...] = ()
    """Steps whose results are taken over from the execution that this one retries."""
    parent: Parent | None = None
    """The step that it is a child of."""


async def insert_child(tx: Connection, core: Core, now: datetime, start: Start) -> int:
    """Inserts a child execution, in the transaction that starts it. Started again, it is the same one."""
    prepared = await prepare_submit(tx, 1, [start.key])
    if prepared.known:
        return next(iter(prepared.known.values()))
    await insert(tx, core, now, [(prepared.ids[0], start)])
    return prepared.ids[0]


async def insert(
    tx: Connection,
    core: Core,
    now: datetime,
    new: Sequence[tuple[int, Start]],
    request: LeaseRequest | None = None,
) -> dict[int, Inserted]:
    """Writes the executions. Returns those that were written by their numbers: the keys of the others are taken.

    `request`: the lease request that the only item goes to.
    """
    journal = Journal(now, most_read=core.settings.max_rendered)
    rows: list[NewExecution] = []
    for number, start in new:
        parent = start.parent
        row = ExecutionRow(
            number, start.plan_id, "running", len(start.plan.steps), start.base_dir, start.retry_of,
            start.original_execution, now, None, parent.execution_id if parent is not None else None,
            lane=parent.lane if parent is not None else 0, input=start.input,
        )  # fmt: skip
        await _begin(tx, journal, row, start, core.rendering)
        ended = journal.executions.get(number)
        rows.append(_new_execution(row if ended is None else ended[0], start))
    if request is not None:
        _lease_at_once(journal, request)
    inputs = [encode(start.input) if start.input else None for _, start in new]
    inserted = await insert_executions(tx, journal, rows, inputs, core.terms)
    core.inputs.note({one.id: one.input for one in inserted.values()})
    for number, start in new:
        fans = [step.step for step in start.carried if start.plan.steps[step.step].for_each is not None]
        if fans and start.retry_of is not None and number in inserted:
            await copy_item_results(tx, number, start.retry_of, fans)
    failing = {id_: row for id_, row in journal.failing.items() if id_ in inserted}
    if failing:  # nothing has run, so there is nothing to undo; but they must end
        await write(tx, core, Journal(now, failing=failing))
    return inserted


def _new_execution(row: ExecutionRow, start: Start) -> NewExecution:
    return NewExecution(
        number=row.id,
        plan_id=start.plan_id,
        open_steps=row.open_steps,
        state=row.state,
        submit_key=start.key,
        base_dir=start.base_dir,
        retry_of=start.retry_of,
        original_execution=start.original_execution,
        deadline=start.plan.workflow.deadline,
        parent=start.parent,
    )


def _lease_at_once(journal: Journal, request: LeaseRequest) -> None:
    """Leases the only new item to the request that waits for it, and logs what the lease of a queued item would log."""
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


async def _begin(tx: Connection, journal: Journal, row: ExecutionRow, start: Start, budget: Budget) -> None:
    """The first events, and the first items: the steps that wait for nothing, or only for what is carried over."""
    plan = start.plan
    journal.log(row.id, event(ExecutionStarted, data=_started(start)))
    if start.operator is not None:
        journal.log(row.id, event(OperatorAction, data=start.operator))
    turn = Turn(row, plan, budget)
    if start.carried:
        await _carry_over(journal, turn, start)
    done = {step.step for step in start.carried}
    turn.ended += await start_steps(tx, journal, turn, [name for name in plan.roots if name not in done])
    if turn.ended:
        await advance_executions(tx, journal, [turn])


async def _carry_over(journal: Journal, turn: Turn, start: Start) -> None:
    """Logs the steps whose results are taken over, and lets them have ended."""
    row, plan, turns = turn.row, turn.plan, Turns()
    for step in start.carried:
        if turns.over:
            await turns.give_way()
        kept: dict[str, Any] = {"carried_from": start.retry_of, "attempts": 0}
        if step.state == "completed":
            kept["result"] = step.result
        if step.failure is not None:  # a value stood in for its result
            kept["on_failure"] = "value"
        elif step.state == "completed" and plan.steps[step.step].for_each is not None:
            kept["items"] = _item_counts(step)
        journal.log(
            row.id,
            event(StepCompleted if step.state == "completed" else StepSkipped, step.step, data=kept),
        )
        turn.ended.append(replace(step, execution_id=row.id, attempts=0))


def _item_counts(fan_out: StepRow) -> dict[str, int]:
    total, failed = len(fan_out.result), len(fan_out.failures or ())
    return {"total": total, "failed": failed, "succeeded": total - failed}
