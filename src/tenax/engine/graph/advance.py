"""Takes a graph onward when steps have ended: queues what is ready, closes what cannot run, ends the execution."""

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
from tenax.engine.graph.start_steps import start_steps, template_failure
from tenax.engine.graph.template_scope import load_results, scope_for
from tenax.engine.graph.turn import Failure, Turn
from tenax.engine.slices import Turns, in_slices
from tenax.model.changes import StepRow
from tenax.model.events import event
from tenax.model.events.data import StepCompletedData, StepFailedData, UnreachableData
from tenax.model.events.types import StepCompleted, StepFailedTerminal, StepUnreachable
from tenax.policy.advance import Ending, EndState, advance, touched_by
from tenax.policy.expressions.compiler import EvaluationError
from tenax.policy.expressions.meter import Meter
from tenax.policy.transitions import check
from tenax.store.connect import Connection
from tenax.store.journal import Journal
from tenax.store.tables.steps import load_steps

__all__ = ["Failure", "Turn", "advance_executions"]


async def advance_executions(tx: Connection, journal: Journal, turns: Sequence[Turn]) -> None:
    """What follows from the ended steps, down to the end of the executions, into the journal."""
    graphs = [turn for turn in turns if not turn.plan.single]
    for turn in graphs:
        turn.ended = await _forgive_all(tx, journal, turn, turn.ended)
    states = await _stored_states(tx, graphs)
    for turn in turns:
        if turn.plan.single:
            _end_single(turn)
        else:
            await _advance_graph(tx, journal, turn, states.get(turn.row.id, {}))
    await cancel_waiting(tx, journal, [turn.row.id for turn in graphs if turn.failure is not None])
    await render_results(tx, journal, [turn for turn in turns if turn.complete])
    for turn in turns:
        if turn.failure is not None:
            fail_execution(journal, turn.row, turn.plan, turn.failure)


def _end_single(turn: Turn) -> None:
    turn.row.open_steps = 0
    for step in turn.ended:
        if step.state == "failed":
            turn.failure = failure_of(step)
        else:
            turn.complete = True


async def _forgive_all(
    tx: Connection, journal: Journal, turn: Turn, steps: Sequence[StepRow]
) -> list[StepRow]:
    """Lets values stand in for the results of failed steps, where their `on_failure` says so."""
    forgiven: list[StepRow] = []
    turns = Turns()
    for step in steps:
        if turns.over:
            await turns.give_way()
        forgiven.append(await _forgive(tx, journal, turn, step))
    return forgiven


async def _forgive(tx: Connection, journal: Journal, turn: Turn, step: StepRow) -> StepRow:
    """A failed step that has a value to stand in for its result is complete after all."""
    planned = turn.plan.steps[step.step]
    if step.state != "failed" or planned.value is None:
        return step
    journal.step(step)
    step = (await load_results(tx, journal, [(turn.row.id, step.step)]))[turn.row.id][step.step]
    try:
        scope = await scope_for(tx, journal, turn.row, planned.value_reads)
        value = planned.value.render(scope, Meter(*turn.budget)).value
    except EvaluationError as error:
        return _unforgiven(journal, turn, step, f"`on_failure` of step {step.step}: {error}")
    data = StepCompletedData(attempts=step.attempts, result=value, on_failure="value")
    journal.log(turn.row.id, event(StepCompleted, step.step, data=data))
    return replace(_with_result(step, value), state="completed")


def _unforgiven(journal: Journal, turn: Turn, step: StepRow, message: str) -> StepRow:
    """The value could not be had: the step has failed after all, and of that."""
    turn.unforgiven.add(step.step)
    failure = {**template_failure(message), "attempts": step.attempts}
    reason = "the value of its `on_failure` cannot be had"
    data = StepFailedData(attempt=step.attempts, final_error=message, reason=reason, failure=failure)
    journal.log(turn.row.id, event(StepFailedTerminal, step.step, data=data))
    return replace(step, failure=failure)


async def _advance_graph(tx: Connection, journal: Journal, turn: Turn, states: dict[str, StepRow]) -> None:
    row, plan = turn.row, turn.plan
    fresh = list(turn.ended)
    waiting = {step: stored.waiting_for for step, stored in states.items()}
    ended = {step.step: step for step in turn.ended}
    # What is carried over ends together with what it needs: that must not start it.
    closed = {step for step, stored in states.items() if stored.state != "pending"} | ended.keys()
    turns = Turns()
    while fresh:
        for step in fresh:
            if turns.over:
                await turns.give_way()
            journal.step(step)
            if _end_state(turn, step) == "failed" and step.step in plan.goals and turn.failure is None:
                turn.failure = failure_of(step)
        await _lend_results(tx, journal, turn, fresh)
        progress = await in_slices(advance(plan, _endings(turn, fresh), waiting, closed))
        for name in progress.ready:
            check("step", _state_of(name, states, ended), "queued")
        for name in progress.unreachable:
            check("step", _state_of(name, states, ended), "unreachable")
        if turns.over:
            await turns.give_way()
        waiting |= progress.waiting
        closed |= progress.unreachable.keys()
        row.open_steps -= len(fresh) + len(progress.unreachable)
        await _cut_off(journal, turn, progress.unreachable, ended)
        for name, left in progress.waiting.items():
            if left > 0 and name not in closed:
                journal.step(StepRow(row.id, name, "pending", left))
        if turns.over:
            await turns.give_way()
        started = await start_steps(tx, journal, turn, progress.ready) if turn.failure is None else []
        fresh = await _forgive_all(tx, journal, turn, started)
        turn.ended.extend(fresh)
        ended |= {step.step: step for step in fresh}
        await _load_missing(tx, turn, fresh, waiting, closed)
    if turn.failure is None and row.open_steps == 0:
        turn.complete = True
    journal.execution(row)


def _state_of(name: str, states: dict[str, StepRow], ended: dict[str, StepRow]) -> str:
    """Returns the state of a step before it starts, or is cut off. A step that waits for nothing yet has no row."""
    row = ended.get(name) or states.get(name)
    return "pending" if row is None else row.state


async def _stored_states(tx: Connection, graphs: Sequence[Turn]) -> dict[int, dict[str, StepRow]]:
    """By execution, the stored states of the steps that what has ended may touch."""
    keys = [
        (turn.row.id, name)
        for turn in graphs
        for name in await in_slices(touched_by(turn.plan, _endings(turn, turn.ended)))
    ]
    found: dict[int, dict[str, StepRow]] = {}
    for (execution_id, name), row in (await load_steps(tx, sorted(keys)) if keys else {}).items():
        found.setdefault(execution_id, {})[name] = row
    return found


async def _load_missing(
    tx: Connection, turn: Turn, fresh: Sequence[StepRow], waiting: dict[str, int], closed: set[str]
) -> None:
    """The counters behind steps that were skipped just now."""
    if not fresh:
        return
    keys = [
        (turn.row.id, name)
        for name in await in_slices(touched_by(turn.plan, _endings(turn, fresh)))
        if name not in waiting and name not in closed
    ]
    for (_, name), stored in (await load_steps(tx, keys) if keys else {}).items():
        waiting[name] = stored.waiting_for
        if stored.state != "pending":
            closed.add(name)


async def _lend_results(tx: Connection, journal: Journal, turn: Turn, fresh: Sequence[StepRow]) -> None:
    """What a fallback gives is also the result of the step that it stands in for."""
    turns = Turns()
    for step in fresh:
        if turns.over:
            await turns.give_way()
        failed = turn.plan.steps[step.step].fallback_of
        while failed is not None and step.state == "completed":
            rows = await load_results(tx, journal, [(turn.row.id, step.step), (turn.row.id, failed)])
            own = rows[turn.row.id]
            _lend(journal, own[step.step], own[failed])
            failed = turn.plan.steps[failed].fallback_of


def _lend(journal: Journal, lender: StepRow, failed: StepRow) -> None:
    """Gives a result to the step that has failed. One that is too large to be read is copied in the table."""
    size = (lender.left_out or {}).get("result")
    lent = replace(_with_result(failed, lender.result), stored=False)
    if size is None:
        journal.step(lent)
        return
    key = (failed.execution_id, failed.step)
    lent.left_out = {**(lent.left_out or {}), "result": size}
    (journal.steps if key in journal.steps else journal.read_results)[key] = lent
    journal.lent.append((failed.execution_id, lender.step, failed.step))


def _with_result(step: StepRow, result: Any) -> StepRow:
    """Returns the step with another result: that its own was too large means nothing any more."""
    left_out = {name: size for name, size in (step.left_out or {}).items() if name != "result"}
    return replace(step, result=result, left_out=left_out or None)


async def _cut_off(
    journal: Journal, turn: Turn, unreachable: dict[str, str], ended: dict[str, StepRow]
) -> None:
    turns = Turns()
    for name, cause in unreachable.items():
        if turns.over:
            await turns.give_way()
        journal.log(turn.row.id, event(StepUnreachable, name, data=UnreachableData(cause=cause)))
        journal.step(StepRow(turn.row.id, name, "unreachable", failure={"cause": cause}))
        if name in turn.plan.goals and turn.failure is None:
            turn.failure = failure_of(ended[cause])


def _endings(turn: Turn, steps: Sequence[StepRow]) -> list[Ending]:
    return [Ending(step.step, _end_state(turn, step)) for step in steps]


def _end_state(turn: Turn, step: StepRow) -> EndState:
    """How what depends on it sees the step."""
    match step.state:
        case "failed" if turn.plan.steps[step.step].forgiven and step.step not in turn.unforgiven:
            return "completed"
        case "failed" | "skipped":
            return step.state
        case _:
            return "completed"
