"""Takes a graph onward when steps have ended: queues what is ready, closes what cannot run, ends the execution."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tenax.model.events import event
from tenax.policy.advance import Ending, EndState, advance, touched_by
from tenax.policy.expressions import EvaluationError
from tenax.policy.plan import Plan, PlannedStep
from tenax.policy.values import truth
from tenax.store import queue
from tenax.store.connect import Connection
from tenax.store.journal import Journal
from tenax.store.json_text import decode, encode
from tenax.store.rows import ExecutionRow, NewItem, StepRow
from tenax.store.steps import StepKey, load_step_results, load_steps

Failure = dict[str, Any]


@dataclass(slots=True)
class Turn:
    """One execution within a transaction: its locked row, its plan, and the steps of it that have ended."""

    row: ExecutionRow
    plan: Plan
    ended: list[StepRow] = field(default_factory=list)
    failure: Failure | None = None
    """Why the execution fails, once it does."""
    complete: bool = False


async def advance_executions(tx: Connection, journal: Journal, turns: Sequence[Turn]) -> None:
    """What follows from the ended steps, down to the end of the executions, into the journal."""
    graphs = [turn for turn in turns if not turn.plan.single]
    states = await _stored_states(tx, graphs)
    for turn in turns:
        if turn.plan.single:
            _end_single(turn)
        else:
            await _advance_graph(tx, journal, turn, states)
    await cancel_waiting(tx, journal, [turn.row.id for turn in graphs if turn.failure is not None])
    await render_results(tx, journal, [turn for turn in turns if turn.complete])
    for turn in turns:
        if turn.failure is not None:
            fail_execution(journal, turn.row, turn.failure)


def enqueue(journal: Journal, row: ExecutionRow, planned: PlannedStep) -> None:
    step = planned.step
    journal.new_items.append(
        NewItem(
            execution_id=row.id,
            plan_id=row.plan_id,
            step=step.name,
            queue=step.queue,
            runtime=step.type,
            priority=step.priority,
            labels=encode(dict(step.labels)) if step.labels else None,
            max_attempts=planned.policy.policy.max_attempts,
            timeout=step.timeout,
            queue_ttl=step.queue_ttl,
        )
    )
    journal.log(row.id, event("step_enqueued", step.name))


def fail_execution(journal: Journal, row: ExecutionRow, failure: Failure) -> None:
    row.become("failed")
    journal.execution(row, failure=failure)
    journal.log(row.id, event("execution_failed", data={"failure": failure}))


async def cancel_waiting(tx: Connection, journal: Journal, executions: Sequence[int]) -> None:
    """An execution that fails takes along what waits. What runs may finish, and is recorded."""
    if not executions:
        return
    going = set(journal.ended_items)
    for item in await queue.lock_open_items(tx, executions, leased_too=False):
        if item.id not in going:
            journal.ended_items.append(item.id)
            journal.log(item.execution_id, event("item_cancelled", item.step, item=item.item_no))
    for new in journal.new_items:
        if new.execution_id in executions:
            journal.log(new.execution_id, event("item_cancelled", new.step))
    journal.new_items = [new for new in journal.new_items if new.execution_id not in executions]


async def _stored_states(tx: Connection, graphs: Sequence[Turn]) -> dict[StepKey, StepRow]:
    keys = {
        (turn.row.id, name)
        for turn in graphs
        for step in turn.ended
        for name in touched_by(turn.plan, Ending(step.step, _end_state(step)))
    }
    return await load_steps(tx, sorted(keys)) if keys else {}


def _end_single(turn: Turn) -> None:
    turn.row.open_steps = 0
    for step in turn.ended:
        if step.state == "failed":
            turn.failure = failure_of(step)
        else:
            turn.complete = True


async def _advance_graph(
    tx: Connection, journal: Journal, turn: Turn, states: dict[StepKey, StepRow]
) -> None:
    row, plan = turn.row, turn.plan
    fresh = list(turn.ended)
    waiting = {step: stored.waiting_for for (id_, step), stored in states.items() if id_ == row.id}
    closed = {step for (id_, step), stored in states.items() if id_ == row.id and stored.state != "pending"}
    while fresh:
        for step in fresh:
            journal.step(step)
            if step.state == "failed" and step.step in plan.goals and turn.failure is None:
                turn.failure = failure_of(step)
        progress = advance(plan, [Ending(s.step, _end_state(s)) for s in fresh], waiting, frozenset(closed))
        waiting |= progress.waiting
        closed |= progress.unreachable.keys()
        row.open_steps -= len(fresh) + len(progress.unreachable)
        _cut_off(journal, turn, progress.unreachable, {s.step: s for s in [*turn.ended, *fresh]})
        for name, left in progress.waiting.items():
            if left > 0 and name not in closed:
                journal.step(StepRow(row.id, name, "pending", left))
        fresh = await start_steps(tx, journal, turn, progress.ready) if turn.failure is None else []
        turn.ended.extend(fresh)
        await _load_missing(tx, turn, fresh, waiting, closed)
    if turn.failure is None and row.open_steps == 0:
        turn.complete = True
    journal.execution(row)


async def start_steps(tx: Connection, journal: Journal, turn: Turn, names: Iterable[str]) -> list[StepRow]:
    """Queues the steps whose needs are met. Those that `when` leaves out have ended already, and are returned."""
    ended: list[StepRow] = []
    for name in names:
        planned = turn.plan.steps[name]
        if planned.when is None:
            enqueue(journal, turn.row, planned)
            continue
        try:
            wanted = truth(planned.when.evaluate(await _scope(tx, journal, turn.row, planned.when_reads)))
        except EvaluationError as error:
            failure = _template_failure(f"`when` of step {name}: {error}")
            journal.log(
                turn.row.id, event("step_failed_terminal", name, data={"failure": failure, "attempts": 0})
            )
            ended.append(StepRow(turn.row.id, name, "failed", failure=failure))
        else:
            if wanted:
                enqueue(journal, turn.row, planned)
            else:
                journal.log(turn.row.id, event("step_skipped", name, data={"when": planned.step.when}))
                ended.append(StepRow(turn.row.id, name, "skipped"))
    return ended


async def _load_missing(
    tx: Connection, turn: Turn, fresh: Sequence[StepRow], waiting: dict[str, int], closed: set[str]
) -> None:
    """The counters behind steps that were skipped just now."""
    keys = [
        (turn.row.id, name)
        for step in fresh
        for name in touched_by(turn.plan, Ending(step.step, _end_state(step)))
        if name not in waiting and name not in closed
    ]
    for (_, name), stored in (await load_steps(tx, keys) if keys else {}).items():
        waiting[name] = stored.waiting_for
        if stored.state != "pending":
            closed.add(name)


def _cut_off(journal: Journal, turn: Turn, unreachable: dict[str, str], ended: dict[str, StepRow]) -> None:
    for name, cause in unreachable.items():
        journal.log(turn.row.id, event("step_unreachable", name, data={"cause": cause}))
        journal.step(StepRow(turn.row.id, name, "unreachable", failure={"cause": cause}))
        if name in turn.plan.goals and turn.failure is None:
            turn.failure = failure_of(ended[cause])


async def render_results(tx: Connection, journal: Journal, turns: Sequence[Turn]) -> None:
    """The result of a completed execution: its `outputs`, or else the results of its goals."""
    wanted = [
        (turn.row.id, name)
        for turn in turns
        if not turn.plan.single
        for name in (turn.plan.outputs_read if turn.plan.outputs is not None else turn.plan.goals)
    ]
    results = await _results(tx, journal, wanted) if wanted else {}
    for turn in turns:
        own = {step.step: step for step in turn.ended} if turn.plan.single else results.get(turn.row.id, {})
        outputs = turn.plan.outputs
        if outputs is None:
            result = {name: own[name].result for name in sorted(turn.plan.goals) if name in own}
            _complete_execution(journal, turn.row, result, {})
            continue
        try:
            rendered = outputs.render(_scope_of(turn.row, own.values())).value
        except EvaluationError as error:
            turn.failure = _template_failure(f"outputs: {error}")
        else:
            _complete_execution(journal, turn.row, rendered, {"result": rendered})


def _complete_execution(journal: Journal, row: ExecutionRow, result: Any, data: dict[str, Any]) -> None:
    row.become("completed")
    journal.execution(row, result=result)
    journal.log(row.id, event("execution_completed", data=data))


async def _results(
    tx: Connection, journal: Journal, keys: Sequence[StepKey]
) -> dict[int, dict[str, StepRow]]:
    """Stored results, and on top of them those of this very transaction."""
    found: dict[int, dict[str, StepRow]] = {}
    stored = await load_step_results(tx, keys)
    for key in keys:
        row = journal.steps.get(key) or stored.get(key)
        if row is not None:
            found.setdefault(key[0], {})[key[1]] = row
    return found


async def _scope(tx: Connection, journal: Journal, row: ExecutionRow, reads: Sequence[str]) -> dict[str, Any]:
    keys = [(row.id, name) for name in reads]
    results = (await _results(tx, journal, keys)).get(row.id, {}) if keys else {}
    return _scope_of(row, results.values())


def _scope_of(row: ExecutionRow, steps: Iterable[StepRow]) -> dict[str, Any]:
    return {
        "input": decode(row.input) or {},
        "execution_id": row.id,
        "steps": {s.step: step_scope(s) for s in steps},
    }


def step_scope(step: StepRow) -> dict[str, Any]:
    """What templates see of a step that has ended."""
    return {"status": step.state, "result": step.result, "failure": step.failure, "attempts": step.attempts}


def _end_state(step: StepRow) -> EndState:
    match step.state:
        case "failed" | "skipped":
            return step.state
        case _:
            return "completed"


def failure_of(step: StepRow) -> Failure:
    return {**(step.failure or {}), "step": step.step, "attempts": step.attempts}


def _template_failure(message: str) -> Failure:
    return {"class": "invalid", "reason": "template_error", "message": message}
