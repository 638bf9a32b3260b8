"""New executions: a batch in one transaction, the same key the same execution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import structlog

from tenax.engine.compensation import write
from tenax.engine.core import Core
from tenax.engine.lease import Dispatcher
from tenax.engine.progress import advance_executions
from tenax.engine.start import CROWD_STEPS, Turn, queued_action, start_steps
from tenax.model.events import event
from tenax.model.wire import Submitted
from tenax.policy.offers import Candidate
from tenax.policy.plan import Plan, PlannedStep
from tenax.store.connect import Connection
from tenax.store.executions import insert_execution, prepare_submit
from tenax.store.fans import copy_item_results
from tenax.store.finish import QueuedAction
from tenax.store.journal import Journal
from tenax.store.json_text import decode, encode
from tenax.store.rows import ExecutionRow, NewExecution, Parent, StepRow

_log = structlog.get_logger("tenax.submit")
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
    operator: Mapping[str, Any] | None = None
    """Who asked for it and why, where a person did."""
    carried: tuple[StepRow, ...] = ()
    """Steps whose results are taken over from the execution that this one retries."""
    parent: Parent | None = None
    """The step that it is a child of."""


_NO_ID = 0
"""Of an execution whose id is made as it is written."""
FEW = 16
"""So many are written by nested loops as fast as by any other way, and planned once for all."""


def _session(core: Core, starts: Sequence[Start]) -> AbstractAsyncContextManager[Connection]:
    if len(starts) > FEW:
        return core.transaction()
    return core.statements() if all(_is_plain(start) for start in starts) else core.straight()


def _is_plain(start: Start) -> bool:
    """One statement writes all of it, whatever its id and the time are."""
    plan = start.plan
    return (
        start.key is None
        and start.parent is None
        and not start.carried
        and len(plan.steps) <= CROWD_STEPS
        and all(_is_queued_at_once(plan.steps[name]) for name in plan.roots)
    )


def _is_queued_at_once(step: PlannedStep) -> bool:
    conditions = (step.fallback_of, step.when, step.for_each, step.concurrency_key)
    return all(condition is None for condition in conditions)


async def submit(core: Core, dispatcher: Dispatcher, starts: Sequence[Start]) -> list[Submitted]:
    if len(starts) == 1 and _begins_with_one_step(starts[0]):
        answer, is_leased = await _submit_alone(core, dispatcher, starts[0])
        answers = [answer]
    else:
        answers, is_leased = await _submit_together(core, starts), False
    core.hub.announce(
        ready=not is_leased,
        server_steps=any(start.plan.has_server_steps for start in starts),
        due_in=min((start.plan.soonest for start in starts if start.plan.soonest is not None), default=None),
    )
    return answers


def _begins_with_one_step(start: Start) -> bool:
    """And there is nothing else to say of it."""
    if start.retry_of is not None or start.operator is not None or not _is_plain(start):
        return False
    roots = start.plan.roots
    return len(roots) == 1 and start.plan.steps[roots[0]].step.concurrency is None


async def _submit_alone(core: Core, dispatcher: Dispatcher, start: Start) -> tuple[Submitted, bool]:
    """By one statement, which makes the id and takes the time. It leaves what the full way leaves. Where a worker waits for it and
    for nothing else, the same statement leases it: whether it was."""
    root = start.plan.steps[start.plan.roots[0]]
    new, action = _new_execution(_NO_ID, start), queued_action(root)
    events = [event("execution_started", data=_started(start)), event("step_enqueued", action.step)]
    parked = dispatcher.reserve(Candidate(_NO_ID, action.queue, action.runtime, root.step.labels))
    slot = None
    if parked is not None:
        slot = parked.request.worker, parked.request.grant
        events.append(_first_attempt(action, parked.request.worker))
    try:
        async with core.statements() as tx:
            made = await insert_execution(tx, new, action, encode(events), slot, core.terms)
    except BaseException:  # it is raised again; the request must not wait for what will not come
        if parked is not None:
            dispatcher.give_up([parked])
        raise
    core.inputs.note({made.id: made.input})
    if parked is not None and made.leased is not None:
        try:
            await dispatcher.hand_over(parked, made.leased)
        except Exception:  # noqa: BLE001 -- it is submitted, whatever became of its lease, which has been given up
            _log.exception(
                "what was leased as it was submitted could not be handed over", execution_id=made.id
            )
    return Submitted(made.id, created=True), made.leased is not None


def _first_attempt(action: QueuedAction, worker: str) -> dict[str, Any]:
    """As the lease of an item that was queued logs it."""
    retry = {"attempt": 1, "max_attempts": action.max_attempts, "is_retry": False}
    data: dict[str, Any] = {"worker": worker, "retry": retry}
    if action.vary is not None:
        data["vary"] = decode(action.vary)
    return event("action_started", action.step, attempt=1, data=data)


async def _submit_together(core: Core, starts: Sequence[Start]) -> list[Submitted]:
    keys = {start.key for start in starts if start.key is not None}
    async with _session(core, starts) as tx:
        prepared = await prepare_submit(tx, len(starts), list(keys))
        known = dict(prepared.known)
        answers: list[Submitted] = []
        new: list[tuple[NewExecution, Start]] = []
        for start, id_ in zip(starts, prepared.ids, strict=True):
            if start.key is not None and start.key in known:
                answers.append(Submitted(known[start.key], created=False))
                continue
            if start.key is not None:
                known[start.key] = id_
            answers.append(Submitted(id_, created=True))
            new.append((_new_execution(id_, start), start))
        inserted = await _insert(tx, core, prepared.now, new)
        if taken := {execution.id for execution, _ in new} - inserted:
            answers = await _settle_races(tx, starts, answers, taken)
    return answers


async def insert_child(tx: Connection, core: Core, now: datetime, start: Start) -> int:
    """A child execution, in the transaction that starts it. Started again, it is the same one."""
    prepared = await prepare_submit(tx, 1, [start.key])
    if prepared.known:
        return next(iter(prepared.known.values()))
    [id_] = prepared.ids
    await _insert(tx, core, now, [(_new_execution(id_, start), start)])
    return id_


def _new_execution(id_: int, start: Start) -> NewExecution:
    return NewExecution(
        id=id_,
        plan_id=start.plan_id,
        open_steps=len(start.plan.steps),
        submit_key=start.key,
        input=encode(start.input) if start.input else None,
        base_dir=start.base_dir,
        retry_of=start.retry_of,
        original_execution=start.original_execution,
        deadline=start.plan.workflow.deadline,
        parent=start.parent,
    )


async def _insert(
    tx: Connection, core: Core, now: datetime, new: Sequence[tuple[NewExecution, Start]]
) -> set[int]:
    """Writes the executions. Returns those that were written: someone else may just have used the key of another."""
    if not new:
        return set()
    journal = Journal(now)
    rows: list[NewExecution] = []
    for execution, start in new:
        row = ExecutionRow(
            execution.id, execution.plan_id, "running", execution.open_steps, execution.base_dir,
            execution.retry_of, execution.original_execution, now, None,
            execution.parent.execution_id if execution.parent is not None else None,
            lane=execution.parent.lane if execution.parent is not None else 0,
            input=start.input,
        )  # fmt: skip
        await _begin(tx, journal, row, start)
        rows.append(
            execution
            if row.open_steps == execution.open_steps
            else _with_open_steps(execution, row.open_steps)
        )
    inserted = await journal.insert(tx, rows)
    core.inputs.note(inserted)
    for execution, start in new:
        fans = [step.step for step in start.carried if start.plan.steps[step.step].for_each is not None]
        if fans and start.retry_of is not None and execution.id in inserted:
            await copy_item_results(tx, execution.id, start.retry_of, fans)
    failing = {id_: row for id_, row in journal.failing.items() if id_ in inserted}
    if failing:  # nothing has run, so there is nothing to undo; but they must end
        await write(tx, core, Journal(now, failing=failing))
    return set(inserted)


def _with_open_steps(execution: NewExecution, open_steps: int) -> NewExecution:
    values = {name: getattr(execution, name) for name in NewExecution.__slots__}
    return NewExecution(**{**values, "open_steps": open_steps})


def _started(start: Start) -> dict[str, Any]:
    data: dict[str, Any] = {"workflow": start.plan.workflow.name}
    return data | {"input": dict(start.input)} if start.input else data


async def _begin(tx: Connection, journal: Journal, row: ExecutionRow, start: Start) -> None:
    """The first events, and the first items: the steps that wait for nothing, or only for what is carried over."""
    plan, data = start.plan, _started(start)
    if start.parent is not None:
        data["parent"] = {
            "execution_id": start.parent.execution_id,
            "step": start.parent.step,
            "item": start.parent.item,
            "attempt": start.parent.attempt,
        }
    if start.retry_of is not None:
        data |= {
            "retry_of": start.retry_of,
            "original_execution": start.original_execution,
            "reason": "manual_retry",
        }
    journal.log(row.id, event("execution_started", data=data))
    if start.operator is not None:
        journal.log(row.id, event("operator_action", data=dict(start.operator)))
    turn = Turn(row, plan)
    for step in start.carried:
        kept: dict[str, Any] = {"carried_from": start.retry_of, "attempts": 0}
        if step.state == "completed":
            kept["result"] = step.result
        if step.failure is not None:  # a value stood in for its result
            kept["on_failure"] = "value"
        elif step.state == "completed" and plan.steps[step.step].for_each is not None:
            kept["items"] = _item_counts(step)
        journal.log(
            row.id,
            event("step_completed" if step.state == "completed" else "step_skipped", step.step, data=kept),
        )
        turn.ended.append(replace(step, execution_id=row.id, attempts=0))
    done = {step.step for step in start.carried}
    turn.ended += await start_steps(tx, journal, turn, [name for name in plan.roots if name not in done])
    if turn.ended:
        await advance_executions(tx, journal, [turn])


def _item_counts(fan_out: StepRow) -> dict[str, int]:
    total, failed = len(fan_out.result), len(fan_out.failures or ())
    return {"total": total, "failed": failed, "succeeded": total - failed}


async def _settle_races(
    tx: Connection, starts: Sequence[Start], answers: Sequence[Submitted], taken: set[int]
) -> list[Submitted]:
    keys = [start.key for start, answer in zip(starts, answers, strict=True) if answer.id in taken]
    known = (await prepare_submit(tx, 0, keys)).known
    return [
        Submitted(known[start.key or ""], created=False) if answer.id in taken else answer
        for start, answer in zip(starts, answers, strict=True)
    ]
