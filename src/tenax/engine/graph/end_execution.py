"""Ends executions: completed with a result, or failed with all waiting items cancelled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import UNSET

from tenax.engine.graph.budget_book import charge_unreported, is_in_tree
from tenax.engine.graph.execution_update import ExecutionUpdate, Failure
from tenax.engine.graph.recorded_results import refuse_recorded
from tenax.engine.graph.template_scope import load_missing_inputs, load_results, scope_of
from tenax.engine.slices import Sliced, TimeSlice
from tenax.model.changes import ItemAgain, StepRow
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
from tenax.model.letters.letter import LetterPlace, place_of
from tenax.policy.expressions.compiler import EvaluationError
from tenax.policy.expressions.meter import Meter
from tenax.policy.letters import letter_moved, may_have_letter
from tenax.policy.plan import Plan
from tenax.policy.transitions import check
from tenax.store.connect import Connection
from tenax.store.journal import Journal
from tenax.store.rows import ExecutionRow, NewItem, OpenItem
from tenax.store.tables import live_items
from tenax.store.tables.fan_outs import end_unstarted_items

FEW = 8
"""Goals whose results this server puts together itself. The database gathers the results of more goals."""


def fail_execution(journal: Journal, row: ExecutionRow, plan: Plan | None, failure: Failure) -> None:
    """Fails an execution at once. With compensations it stays open until they have ended. `plan` is None if it cannot
    be read."""
    if plan is None or plan.has_fan_outs:
        journal.ended_fan_outs.append(row.id)
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
    """Cancels all waiting items of failed executions. Running items may finish and are recorded."""
    if not executions:
        return
    await cancel_items(tx, journal, executions, running_too=False)
    failed = set(executions)
    kept: list[NewItem] = []
    async for new in Sliced(journal.new_items):
        if new.execution_id in failed:
            journal.log(new.execution_id, event(ItemCancelled, new.step))
        else:
            kept.append(new)
    journal.new_items = kept
    for new_fan_out in journal.new_fan_outs:
        if new_fan_out.item.execution_id in failed:
            journal.log(new_fan_out.item.execution_id, event(ItemCancelled, new_fan_out.item.step))
    journal.new_fan_outs = [e for e in journal.new_fan_outs if e.item.execution_id not in failed]


async def cancel_items(
    tx: Connection,
    journal: Journal,
    executions: Sequence[int],
    *,
    running_too: bool,
    steps: Sequence[str] | None = None,
) -> list[OpenItem]:
    """Cancels the open items of all steps, or of some. Items that end in this transaction are left out. Raises
    ResultsRecorded if a running one has committed its result."""
    going = {*journal.ended_items, *_cancel_retries(journal, executions, steps)}
    if not running_too:  # started in this transaction: it now runs elsewhere and may finish
        going |= {item.id for item in journal.accepted if item.runs_elsewhere}
    found = await live_items.lock_open_items(tx, executions, running_too=running_too, steps=steps)
    if running_too:
        await refuse_recorded(tx, executions)
    ended = [item for item in found if item.id not in going]
    if any(is_in_tree(item.ledger) for item in ended):
        await charge_unreported(tx, journal, ended, "cancelled")
    async for item in Sliced(ended):
        check("item", item.state, "cancelled")
        journal.ended_items.append(item.id)
        journal.freed_limits += item.limits
        worker = item.worker if item.worker and item.state == "leased" else UNSET
        data = ItemCancelledData(was=item.state, worker=worker, item_id=item.id if item.attempt else UNSET)
        kind = CompensationCancelled if item.compensates else ItemCancelled
        journal.log(item.execution_id, event(kind, item.step, item=item.item_no, data=data))
        if may_have_letter(item.ledger, item.state):
            journal.letters.add(letter_moved(place_of(item), "resolved"))
    await _end_unstarted(tx, journal, executions, steps)
    return ended


def _cancel_retries(journal: Journal, executions: Sequence[int], steps: Sequence[str] | None) -> list[int]:
    """Drops the retries that this transaction was about to queue."""
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
            event(ItemCancelled, item.step, item=item.item_no, data=_cancelled_retry(item)),
        )
        if may_have_letter(item.ledger, item.state):
            place = LetterPlace(item.execution_id, item.step, item.item_no, compensates=False)
            journal.letters.add(letter_moved(place, "resolved"))
    gone = {item.id for item in doomed}
    journal.items_again = [item for item in journal.items_again if item.id not in gone]
    return list(gone)


def _cancelled_retry(item: ItemAgain) -> ItemCancelledData:
    return ItemCancelledData(was=item.state, item_id=item.id)


async def _end_unstarted(
    tx: Connection, journal: Journal, executions: Sequence[int], steps: Sequence[str] | None
) -> None:
    """Ends the items that were never started. There may be many, so one event names them all."""
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


async def render_results(tx: Connection, journal: Journal, updates: Sequence[ExecutionUpdate]) -> None:
    """Computes the results of completed executions: the `outputs`, or else the results of the goals."""
    wanted = [
        (update.row.id, name)
        for update in updates
        if not update.plan.single and not _is_gathered(update.plan)
        for name in (update.plan.outputs_read if update.plan.outputs is not None else update.plan.results)
    ]
    results = await load_results(tx, journal, wanted) if wanted else {}
    await load_missing_inputs(tx, [update.row for update in updates if update.plan.outputs is not None])
    time_slice = TimeSlice()
    for update in updates:
        if time_slice.is_over:
            await time_slice.give_way()
        own = (
            {step.step: step for step in update.ended}
            if update.plan.single
            else results.get(update.row.id, {})
        )
        outputs = update.plan.outputs
        if _is_gathered(update.plan) or (outputs is None and any(step.left_out for step in own.values())):
            journal.gathered[update.row.id] = update.plan.results
            _complete(journal, update.row, None)
            continue
        if outputs is None:
            _complete(
                journal, update.row, {name: own[name].result for name in update.plan.results if name in own}
            )
            continue
        try:
            rendered = outputs.render(scope_of(update.row, own.values()), Meter(*update.budget)).value
        except EvaluationError as error:
            message = f"outputs: {error}"
            update.failure = {"class": "invalid", "reason": "template_error", "message": message}
        else:
            _complete(journal, update.row, rendered, ExecutionCompletedData(result=rendered))


def _is_gathered(plan: Plan) -> bool:
    """Returns whether the database gathers the results. Results of fan-outs may be large, and so may those of many
    steps."""
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
