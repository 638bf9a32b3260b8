"""How executions end: complete with a result, or failed, with what waits cancelled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import UNSET

from tenax.engine.graph.template_scope import know_inputs, load_results, scope_of
from tenax.engine.graph.turn import Failure, Turn
from tenax.engine.slices import Turns
from tenax.model.changes import StepRow
from tenax.model.events import event
from tenax.model.events.data import ExecutionCompletedData, ExecutionFailedData, ItemCancelledData
from tenax.model.events.types import (
    CompensationCancelled,
    ExecutionCompensating,
    ExecutionCompleted,
    ExecutionFailed,
    ItemCancelled,
)
from tenax.model.json_text import encode
from tenax.policy.expressions.compiler import EvaluationError
from tenax.policy.expressions.meter import Meter
from tenax.policy.plan import Plan
from tenax.policy.transitions import check
from tenax.store.connect import Connection
from tenax.store.journal import Journal
from tenax.store.rows import ExecutionRow, NewItem, OpenItem
from tenax.store.tables import queue
from tenax.store.tables.fan_outs import end_unstarted_items

FEW = 8
"""Goals whose results the server itself puts together."""


def fail_execution(journal: Journal, row: ExecutionRow, plan: Plan | None, failure: Failure) -> None:
    """Fails at once; with compensations, it stays open until they are over. (Without a plan: it cannot be read.)"""
    if plan is None or plan.has_fans:
        journal.fans_over.append(row.id)
    if plan is not None and plan.compensated and row.compensation is None:
        row.compensation, row.failure = "waiting", encode(failure)
        journal.execution(row, failure=failure)
        journal.failing[row.id] = row
        journal.log(row.id, event(ExecutionCompensating, data=ExecutionFailedData(failure=failure)))
        return
    row.become("failed")
    journal.execution(row, failure=failure)
    journal.log(row.id, event(ExecutionFailed, data=ExecutionFailedData(failure=failure)))


async def cancel_waiting(tx: Connection, journal: Journal, executions: Sequence[int]) -> None:
    """An execution that fails takes along what waits. What runs may finish, and is recorded."""
    if not executions:
        return
    await cancel_items(tx, journal, executions, running_too=False)
    failed, turns = set(executions), Turns()
    kept: list[NewItem] = []
    for new in journal.new_items:
        if turns.over:
            await turns.give_way()
        if new.execution_id in failed:
            journal.log(new.execution_id, event(ItemCancelled, new.step))
        else:
            kept.append(new)
    journal.new_items = kept
    for explosion in journal.explosions:
        if explosion.item.execution_id in failed:
            journal.log(explosion.item.execution_id, event(ItemCancelled, explosion.item.step))
    journal.explosions = [e for e in journal.explosions if e.item.execution_id not in failed]


async def cancel_items(
    tx: Connection,
    journal: Journal,
    executions: Sequence[int],
    *,
    running_too: bool,
    steps: Sequence[str] | None = None,
) -> list[OpenItem]:
    """Ends what is open, but what ends in this transaction anyway; of all steps, or of some."""
    going = {*journal.ended_items, *_cancel_retries(journal, executions, steps)}
    if not running_too:  # started in this very transaction: it runs elsewhere now, and may finish
        going |= {item.id for item in journal.accepted if item.runs_elsewhere}
    found = await queue.lock_open_items(tx, executions, running_too=running_too, steps=steps)
    ended = [item for item in found if item.id not in going]
    turns = Turns()
    for item in ended:
        if turns.over:
            await turns.give_way()
        check("item", item.state, "cancelled")
        journal.ended_items.append(item.id)
        journal.freed_limits += item.limits
        worker = item.worker if item.worker and item.state == "leased" else UNSET
        data = ItemCancelledData(was=item.state, worker=worker)
        kind = CompensationCancelled if item.compensates else ItemCancelled
        journal.log(item.execution_id, event(kind, item.step, item=item.item_no, data=data))
    await _end_unstarted(tx, journal, executions, steps)
    return ended


def _cancel_retries(journal: Journal, executions: Sequence[int], steps: Sequence[str] | None) -> list[int]:
    """Retries that this very transaction was about to plan."""
    doomed = [
        item
        for item in journal.items_again
        if item.execution_id in executions and (steps is None or item.step in steps)
    ]
    for item in doomed:
        check("item", item.state, "cancelled")
        journal.ended_items.append(item.id)
        journal.log(
            item.execution_id,
            event(ItemCancelled, item.step, item=item.item_no, data=ItemCancelledData(was=item.state)),
        )
    gone = {item.id for item in doomed}
    journal.items_again = [item for item in journal.items_again if item.id not in gone]
    return list(gone)


async def _end_unstarted(
    tx: Connection, journal: Journal, executions: Sequence[int], steps: Sequence[str] | None
) -> None:
    """Items that never had their turn: they may be many, and one event names them all."""
    unstarted: dict[tuple[int, str, bool], list[tuple[int, int]]] = {}
    for execution_id, step, compensates, first, last in await end_unstarted_items(tx, executions, steps):
        items = unstarted.setdefault((execution_id, step, compensates), [])
        if first is not None and last is not None:
            items.append((first, last))
    for (execution_id, step, compensates), items in unstarted.items():
        data = ItemCancelledData(was="waiting")
        if items:
            count = sum(last - first + 1 for first, last in items)
            data = ItemCancelledData(was="waiting", count=count, items=items)
        kind = CompensationCancelled if compensates else ItemCancelled
        journal.log(execution_id, event(kind, step, data=data))


async def render_results(tx: Connection, journal: Journal, turns: Sequence[Turn]) -> None:
    """The result of a completed execution: its `outputs`, or else the results of its goals."""
    wanted = [
        (turn.row.id, name)
        for turn in turns
        if not turn.plan.single and not _is_gathered(turn.plan)
        for name in (turn.plan.outputs_read if turn.plan.outputs is not None else turn.plan.results)
    ]
    results = await load_results(tx, journal, wanted) if wanted else {}
    await know_inputs(tx, [turn.row for turn in turns if turn.plan.outputs is not None])
    gives_way = Turns()
    for turn in turns:
        if gives_way.over:
            await gives_way.give_way()
        own = {step.step: step for step in turn.ended} if turn.plan.single else results.get(turn.row.id, {})
        outputs = turn.plan.outputs
        if _is_gathered(turn.plan) or (outputs is None and any(step.left_out for step in own.values())):
            journal.gathered[turn.row.id] = turn.plan.results
            _complete(journal, turn.row, None)
            continue
        if outputs is None:
            _complete(
                journal, turn.row, {name: own[name].result for name in turn.plan.results if name in own}
            )
            continue
        try:
            rendered = outputs.render(scope_of(turn.row, own.values()), Meter(*turn.budget)).value
        except EvaluationError as error:
            message = f"outputs: {error}"
            turn.failure = {"class": "invalid", "reason": "template_error", "message": message}
        else:
            _complete(journal, turn.row, rendered, ExecutionCompletedData(result=rendered))


def _is_gathered(plan: Plan) -> bool:
    """The results of fan-outs may be large, and so may those of many steps: the database puts them together."""
    return plan.outputs is None and (
        len(plan.results) > FEW or any(plan.steps[name].for_each is not None for name in plan.results)
    )


def _complete(
    journal: Journal, row: ExecutionRow, result: Any, data: ExecutionCompletedData | None = None
) -> None:
    row.become("completed")
    journal.execution(row, result=result)
    journal.log(row.id, event(ExecutionCompleted, data=data))


def failure_of(step: StepRow) -> Failure:
    return {**(step.failure or {}), "step": step.step, "attempts": step.attempts}
