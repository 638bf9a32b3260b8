"""Pauses new executions of paused workflows in the transaction that starts them, so that none of their items is leased."""

from __future__ import annotations

from collections.abc import Mapping

from tenax.engine.context import EngineContext
from tenax.model.events import event
from tenax.model.events.data import OperatorData
from tenax.model.events.types import ExecutionPaused, OperatorAction
from tenax.policy.plan import Plan
from tenax.store.connect import Connection
from tenax.store.fleet import workflow_pauses
from tenax.store.journal import Journal
from tenax.store.rows import WorkflowPause
from tenax.store.tables import live_items


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
    rows, now = await live_items.lock_executions(tx, list(found))
    assert now is not None, "they were inserted in this transaction"
    journal = Journal(now)
    paused = {id_: row for id_, row in rows.items() if row.state == "running"}
    for id_, row in paused.items():
        row.become("paused")
        journal.execution(row)
        data = OperatorData(action="pause", actor=found[id_].actor, reason=found[id_].reason)
        journal.log(id_, event(OperatorAction, data=data))
        journal.log(id_, event(ExecutionPaused))
    await journal.write(tx)
    plans = {row.plan_id: started[id_] for id_, row in paused.items()}
    await live_items.pause_items(tx, list(paused), plans, paused=True)
    await workflow_pauses.note_paused(tx, {id_: found[id_].workflow for id_ in paused})
