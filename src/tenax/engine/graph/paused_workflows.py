"""Pauses new executions in the transaction that starts them, so that none of their items is leased: those of paused
workflows, and those that start later."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from tenax.engine.context import EngineContext
from tenax.model.events import event
from tenax.model.events.data import OperatorData
from tenax.model.events.types import ExecutionPaused, OperatorAction
from tenax.model.schedule.moments import moment_text
from tenax.policy.plan import Plan
from tenax.store.connect import Connection
from tenax.store.fleet import workflow_pauses
from tenax.store.journal import Journal
from tenax.store.rows import WorkflowPause
from tenax.store.schedules.delayed_starts import insert_delayed
from tenax.store.tables import live_items

DELAY_ACTOR = "tenax:delay"
"""The actor that pauses executions that start later, and resumes them."""


def is_paused(context: EngineContext, plan: Plan) -> bool:
    """Returns whether the workflow of a plan is paused, as far as this server knows."""
    pause = context.workflow_pauses.get(plan.workflow.name)
    return pause is not None and pause.holds


async def pause_new(tx: Connection, context: EngineContext, started: Mapping[int, Plan]) -> None:
    """Pauses those of these new executions whose workflow is paused."""
    found: dict[int, WorkflowPause] = {
        id_: context.workflow_pauses[plan.workflow.name]
        for id_, plan in started.items()
        if is_paused(context, plan)
    }
    if not found:
        return
    pauses = {
        id_: OperatorData(action="pause", actor=one.actor, reason=one.reason) for id_, one in found.items()
    }
    paused = await _pause(tx, pauses, started)
    await workflow_pauses.note_paused(tx, {id_: found[id_].workflow for id_ in paused})


async def delay_new(tx: Connection, starts: Mapping[int, datetime], plans: Mapping[int, Plan]) -> None:
    """Pauses new executions until their starts. An execution that has ended already is left alone."""
    pauses = {
        id_: OperatorData(action="pause", actor=DELAY_ACTOR, reason=f"it starts at {moment_text(at)}")
        for id_, at in starts.items()
    }
    paused = await _pause(tx, pauses, plans) if pauses else []
    if paused:
        await insert_delayed(tx, {id_: starts[id_] for id_ in paused})


async def _pause(tx: Connection, pauses: Mapping[int, OperatorData], plans: Mapping[int, Plan]) -> list[int]:
    """Pauses those of these new executions that run. Returns their ids."""
    rows, now = await live_items.lock_executions(tx, list(pauses))
    assert now is not None, "they were inserted in this transaction"
    journal = Journal(now)
    paused = {id_: row for id_, row in rows.items() if row.state == "running"}
    for id_, row in paused.items():
        row.become("paused")
        journal.execution(row)
        journal.log(id_, event(OperatorAction, data=pauses[id_]))
        journal.log(id_, event(ExecutionPaused))
    await journal.write(tx)
    by_plan = {row.plan_id: plans[id_] for id_, row in paused.items()}
    await live_items.pause_items(tx, list(paused), by_plan, paused=True)
    return list(paused)
