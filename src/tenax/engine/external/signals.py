"""Handles signals and approvals, which people and other systems send to an execution."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from tenax.engine.context import EngineContext, no_execution
from tenax.engine.graph.settle import settle
from tenax.engine.notifier import announce
from tenax.errors import Conflict, InvalidInput, NotFound
from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.events import event
from tenax.model.events.audit import NewEntry
from tenax.model.events.data import OperatorData, SignalData
from tenax.model.events.types import OperatorAction, SignalReceived
from tenax.model.json_text import json_fault
from tenax.model.source.findings import suggest
from tenax.model.views import ApprovalAnswer, Delivery, SignalAnswer
from tenax.policy.outcome_events import EndedAttempt
from tenax.policy.plan import Plan
from tenax.store.connect import Connection
from tenax.store.journal import Journal
from tenax.store.rows import ExecutionRow, ItemRow
from tenax.store.tables import live_items, signals


async def signal(
    context: EngineContext,
    execution_id: int,
    name: str,
    *,
    data: Any,
    key: str | None,
    actor: str,
    reason: str | None,
) -> SignalAnswer:
    """Gives a signal to the step that has waited longest for it, or keeps it until a step waits. Signals with the same
    key are one signal."""
    if (fault := json_fault(data)) is not None:
        raise InvalidInput(f"the data of signal {name!r} cannot be stored: {fault}")
    async with context.transaction() as tx:
        executions, now = await live_items.lock_executions(tx, [execution_id])
        if now is None:
            raise no_execution(execution_id)
        row, journal = executions[execution_id], Journal(now)
        if key is not None and (earlier := await signals.find_signal(tx, execution_id, key)) is not None:
            if earlier[0] != name:
                raise Conflict(f"the key {key!r} was used for the signal {earlier[0]!r}")
            return SignalAnswer(
                id=execution_id, signal=name, delivered_to=None, created=False, expected=True, names=None
            )
        if not row.open or row.failing:
            state = row.state if not row.open else "failing"
            raise Conflict(
                f"execution {execution_id} is {state}: nothing in it can wait for a signal any more"
            )
        waiting = await live_items.lock_accepted_items(tx, execution_id, f"signal:{name}")
        taker = waiting[0] if waiting else None
        taken_by = taker.id if taker is not None else None
        await signals.insert_signal(
            tx, execution_id, name, data, actor=actor, key=key, now=now, taken_by=taken_by
        )
        _record(journal, row.id, name, data=data, key=key, actor=actor, reason=reason)
        ended = [EndedAttempt(taker, Outcome("succeeded", data), "ended")] if taker is not None else []
        await settle(tx, context, journal, executions, ended)
        names = _signal_names(await context.plans.one(tx, row.plan_id))
    announce(context.notifier, journal)
    to = None if taker is None else Delivery(step=taker.step, item=taker.item_no)
    return SignalAnswer(
        id=execution_id,
        signal=name,
        delivered_to=to,
        created=True,
        expected=names is None or name in names,
        names=names,
    )


def _record(
    journal: Journal,
    execution_id: int,
    name: str,
    *,
    data: Any,
    key: str | None,
    actor: str,
    reason: str | None,
) -> None:
    """Adds the signal to the log, and without its data to the audit."""
    why = UNSET if reason is None else reason
    given = SignalData(name=name, data=data, actor=actor, key=key, reason=why)
    journal.log(execution_id, event(SignalReceived, data=given))
    named = {"signal": name, "key": key}
    journal.audited.append(
        NewEntry(actor, "signal", "execution", str(execution_id), reason=reason, data=named)
    )


def _signal_names(plan: Plan) -> list[str] | None:
    """Returns the names of the signals that the plan's steps wait for. Returns None if a template gives a name, which
    may then be any."""
    given = [
        planned.step.spec.get("signal") for planned in plan.steps.values() if planned.step.type == "wait"
    ]
    names = sorted({name for name in given if name is not None})
    return None if any("{{" in name for name in names) else names


async def decide_approval(
    context: EngineContext,
    execution_id: int,
    step: str,
    *,
    approved: bool,
    item: int | None,
    actor: str,
    reason: str | None,
) -> ApprovalAnswer:
    """Applies a person's approval or rejection to a step that waits for it."""
    async with context.transaction() as tx:
        executions, now = await live_items.lock_executions(tx, [execution_id])
        if now is None:
            raise no_execution(execution_id)
        row, journal = executions[execution_id], Journal(now)
        plan = await context.plans.one(tx, row.plan_id)
        waiting = await _waiting_for_approval(tx, row, plan, step, item)
        action = "approve" if approved else "reject"
        data = OperatorData(action=action, actor=actor, reason=reason)
        journal.log_action(row.id, event(OperatorAction, step, item=waiting.item_no, data=data))
        outcome = _answer(approved=approved, actor=actor, reason=reason)
        await settle(tx, context, journal, executions, [EndedAttempt(waiting, outcome, "ended")])
    announce(context.notifier, journal)
    return ApprovalAnswer(id=execution_id, step=step, item=waiting.item_no, approved=approved)


async def _waiting_for_approval(
    tx: Connection, row: ExecutionRow, plan: Plan, step: str, item: int | None
) -> ItemRow:
    if step not in plan.steps:
        raise NotFound(f"execution {row.id} has no step {step!r}{suggest(step, plan.steps)}")
    definition = plan.steps[step].step
    if definition.type != "wait":
        raise Conflict(f"step {step} is {definition.type}: only a `wait` step asks for approval")
    name = definition.spec.get("signal")
    if name is not None:
        raise Conflict(
            f"step {step} waits for a signal, not for approval",
            remedy=f"tenax signal {row.id} {name}",
        )
    found = await live_items.lock_accepted_items(tx, row.id, "approval", step=step, item=item)
    if not found:
        where = f"item {item} of step {step}" if item is not None else f"step {step}"
        raise Conflict(
            f"{where} does not wait for approval now", remedy=f"`tenax show {row.id}` says how it stands"
        )
    if len(found) > 1:
        numbers = ", ".join(str(one.item_no) for one in found[:20])
        raise Conflict(
            f"{len(found)} items of step {step} wait for approval: {numbers}", remedy="name one with `--item`"
        )
    return found[0]


def _answer(*, approved: bool, actor: str, reason: str | None) -> Outcome:
    if approved:
        return Outcome("succeeded", {"approved": True, "by": actor, "reason": reason})
    words = f"rejected by {actor}" + (f": {reason}" if reason else "")
    return Outcome("failed", facts=Facts(failure_class="denied", reason="rejected", message=words))
