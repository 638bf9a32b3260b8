"""Advances a graph after steps have ended: queues ready steps, closes steps that cannot run, and ends the execution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from tenax.engine.graph.end_execution import (
    cancel_waiting,
    fail_execution,
    failure_of,
    render_results,
)
from tenax.engine.graph.execution_update import ExecutionUpdate, Failure
from tenax.engine.graph.start_steps import start_steps, template_failure
from tenax.engine.graph.template_scope import load_results, scope_for
from tenax.engine.slices import TimeSlice, in_slices
from tenax.model.changes import StepRow
from tenax.model.events import event
from tenax.model.events.data import StepCompletedData, StepFailedData, UnreachableData
from tenax.model.events.types import StepCompleted, StepFailedTerminal, StepUnreachable
from tenax.model.json_text import decode
from tenax.policy.advance import Ending, EndState, advance, touched_by
from tenax.policy.expressions.compiler import EvaluationError
from tenax.policy.expressions.meter import Meter
from tenax.policy.transitions import check
from tenax.store.connect import Connection
from tenax.store.journal import Journal
from tenax.store.tables.steps import load_steps

__all__ = ["ExecutionUpdate", "Failure", "advance_executions"]


async def advance_executions(tx: Connection, journal: Journal, updates: Sequence[ExecutionUpdate]) -> None:
    """Writes into the journal what follows from the ended steps, up to the end of the executions."""
    graphs = [update for update in updates if not update.plan.single]
    for update in graphs:
        update.ended = await _forgive_all(tx, journal, update, update.ended)
    states = await _stored_states(tx, graphs)
    for update in updates:
        if update.plan.single:
            _end_single(update)
        else:
            await _advance_graph(tx, journal, update, states.get(update.row.id, {}))
    await cancel_waiting(tx, journal, [update.row.id for update in graphs if update.failure is not None])
    await render_results(tx, journal, [update for update in updates if update.complete])
    for update in updates:
        if update.failure is not None:
            fail_execution(journal, update.row, update.plan, update.failure)


def _end_single(update: ExecutionUpdate) -> None:
    update.row.open_steps = 0
    for step in update.ended:
        if step.state == "failed":
            update.failure = failure_of(step)
        else:
            update.complete = True


async def _forgive_all(
    tx: Connection, journal: Journal, update: ExecutionUpdate, steps: Sequence[StepRow]
) -> list[StepRow]:
    """Replaces the results of failed steps by the values of their `on_failure`."""
    forgiven: list[StepRow] = []
    time_slice = TimeSlice()
    for step in steps:
        if time_slice.is_over:
            await time_slice.give_way()
        forgiven.append(await _forgive(tx, journal, update, step))
    return forgiven


async def _forgive(tx: Connection, journal: Journal, update: ExecutionUpdate, step: StepRow) -> StepRow:
    """Completes a failed step whose `on_failure` gives a value for its result."""
    planned = update.plan.steps[step.step]
    if step.state != "failed" or planned.value is None:
        return step
    journal.step(step)
    step = (await load_results(tx, journal, [(update.row.id, step.step)]))[update.row.id][step.step]
    try:
        scope = await scope_for(tx, journal, update.row, planned.value_reads)
        value = planned.value.render(scope, Meter(*update.budget)).value
    except EvaluationError as error:
        return _unforgiven(journal, update, step, f"`on_failure` of step {step.step}: {error}")
    data = StepCompletedData(attempts=step.attempts, result=value, on_failure="value")
    journal.log(update.row.id, event(StepCompleted, step.step, data=data))
    return replace(_with_result(step, value), state="completed")


def _unforgiven(journal: Journal, update: ExecutionUpdate, step: StepRow, message: str) -> StepRow:
    """Fails a step whose `on_failure` value could not be computed. The failure becomes that of the value."""
    update.unforgiven.add(step.step)
    failure = {**template_failure(message), "attempts": step.attempts}
    reason = "the value of its `on_failure` cannot be had"
    data = StepFailedData(attempt=step.attempts, final_error=message, reason=reason, failure=failure)
    journal.log(update.row.id, event(StepFailedTerminal, step.step, data=data))
    return replace(step, failure=failure)


async def _advance_graph(
    tx: Connection, journal: Journal, update: ExecutionUpdate, states: dict[str, StepRow]
) -> None:
    row, plan = update.row, update.plan
    fresh = list(update.ended)
    waiting = {step: stored.waiting_for for step, stored in states.items()}
    ended = {step.step: step for step in update.ended}
    # Steps that are taken over end together with the steps they need, which must not start them.
    closed = {step for step, stored in states.items() if stored.state != "pending"} | ended.keys()
    time_slice = TimeSlice()
    while fresh:
        for step in fresh:
            if time_slice.is_over:
                await time_slice.give_way()
            journal.step(step)
            if _end_state(update, step) == "failed" and step.step in plan.goals and update.failure is None:
                update.failure = failure_of(step)
        await _copy_fallback_results(tx, journal, update, fresh)
        progress = await in_slices(advance(plan, _endings(update, fresh), waiting, closed))
        for name in progress.ready:
            check("step", _state_of(name, states, ended), "queued")
        for name in progress.unreachable:
            check("step", _state_of(name, states, ended), "unreachable")
        if time_slice.is_over:
            await time_slice.give_way()
        waiting |= progress.waiting
        closed |= progress.unreachable.keys()
        row.open_steps -= len(fresh) + len(progress.unreachable)
        await _cut_off(journal, update, progress.unreachable, ended)
        for name, left in progress.waiting.items():
            if left > 0 and name not in closed:
                journal.step(StepRow(row.id, name, "pending", left))
        if time_slice.is_over:
            await time_slice.give_way()
        started = await start_steps(tx, journal, update, progress.ready) if update.failure is None else []
        fresh = await _forgive_all(tx, journal, update, started)
        update.ended.extend(fresh)
        ended |= {step.step: step for step in fresh}
        await _load_missing(tx, update, fresh, waiting, closed)
    if update.failure is None and row.open_steps == 0:
        update.failure = decode(row.failure)
        update.complete = update.failure is None
    journal.execution(row)


def _state_of(name: str, states: dict[str, StepRow], ended: dict[str, StepRow]) -> str:
    """Returns the state of a step before it starts or is cut off. If none of its needs has ended, the step has no row."""
    row = ended.get(name) or states.get(name)
    return "pending" if row is None else row.state


async def _stored_states(tx: Connection, graphs: Sequence[ExecutionUpdate]) -> dict[int, dict[str, StepRow]]:
    """Loads, by execution, the states of the steps that the ended steps may affect."""
    keys = [
        (update.row.id, name)
        for update in graphs
        for name in await in_slices(touched_by(update.plan, _endings(update, update.ended)))
    ]
    found: dict[int, dict[str, StepRow]] = {}
    for (execution_id, name), row in (await load_steps(tx, sorted(keys)) if keys else {}).items():
        found.setdefault(execution_id, {})[name] = row
    return found


async def _load_missing(
    tx: Connection,
    update: ExecutionUpdate,
    fresh: Sequence[StepRow],
    waiting: dict[str, int],
    closed: set[str],
) -> None:
    """Loads the counters of the steps behind those that were skipped just now."""
    if not fresh:
        return
    keys = [
        (update.row.id, name)
        for name in await in_slices(touched_by(update.plan, _endings(update, fresh)))
        if name not in waiting and name not in closed
    ]
    for (_, name), stored in (await load_steps(tx, keys) if keys else {}).items():
        waiting[name] = stored.waiting_for
        if stored.state != "pending":
            closed.add(name)


async def _copy_fallback_results(
    tx: Connection, journal: Journal, update: ExecutionUpdate, fresh: Sequence[StepRow]
) -> None:
    """Copies the result of a fallback to the step that it replaces."""
    time_slice = TimeSlice()
    for step in fresh:
        if time_slice.is_over:
            await time_slice.give_way()
        failed = update.plan.steps[step.step].fallback_of
        while failed is not None and step.state == "completed":
            rows = await load_results(tx, journal, [(update.row.id, step.step), (update.row.id, failed)])
            own = rows[update.row.id]
            _lend(journal, own[step.step], own[failed])
            failed = update.plan.steps[failed].fallback_of


def _lend(journal: Journal, lender: StepRow, failed: StepRow) -> None:
    """Gives a result to the failed step. A result that is too large to be read is copied within its table."""
    size = (lender.left_out or {}).get("result")
    copied_results = replace(_with_result(failed, lender.result), stored=False)
    if size is None:
        journal.step(copied_results)
        return
    key = (failed.execution_id, failed.step)
    copied_results.left_out = {**(copied_results.left_out or {}), "result": size}
    (journal.steps if key in journal.steps else journal.read_results)[key] = copied_results
    journal.copied_results.append((failed.execution_id, lender.step, failed.step))


def _with_result(step: StepRow, result: Any) -> StepRow:
    """Returns the step with another result. Its own result no longer counts as too large."""
    left_out = {name: size for name, size in (step.left_out or {}).items() if name != "result"}
    return replace(step, result=result, left_out=left_out or None)


async def _cut_off(
    journal: Journal, update: ExecutionUpdate, unreachable: dict[str, str], ended: dict[str, StepRow]
) -> None:
    time_slice = TimeSlice()
    for name, cause in unreachable.items():
        if time_slice.is_over:
            await time_slice.give_way()
        journal.log(update.row.id, event(StepUnreachable, name, data=UnreachableData(cause=cause)))
        journal.step(StepRow(update.row.id, name, "unreachable", failure={"cause": cause}))
        if name in update.plan.goals and update.failure is None:
            update.failure = failure_of(ended[cause])


def _endings(update: ExecutionUpdate, steps: Sequence[StepRow]) -> list[Ending]:
    return [Ending(step.step, _end_state(update, step)) for step in steps]


def _end_state(update: ExecutionUpdate, step: StepRow) -> EndState:
    """Returns the state that dependent steps see."""
    match step.state:
        case "failed" if update.plan.steps[step.step].forgiven and step.step not in update.unforgiven:
            return "completed"
        case "failed" | "skipped":
            return step.state
        case _:
            return "completed"
