"""Runs a finished execution again, as a new execution that is linked to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenax.engine.context import EngineContext, no_execution
from tenax.engine.graph.start_execution import Start
from tenax.engine.graph.template_scope import load_missing_inputs
from tenax.errors import Conflict
from tenax.model.events.data import OperatorData
from tenax.store.tables import live_items


async def run_anew(
    context: EngineContext,
    execution_id: int,
    *,
    actor: str,
    reason: str | None,
    changed: Mapping[str, Any],
) -> Start:
    """Returns the start of a new execution that runs all of a finished one again. `changed` are inputs that replace those
    of the same name."""
    async with context.transaction() as tx:
        rows, now = await live_items.lock_executions(tx, [execution_id])
        if now is None:
            raise no_execution(execution_id)
        row = rows[execution_id]
        if row.open:
            raise Conflict(
                f"execution {execution_id} is {row.state}: only a finished one can be run anew",
                remedy=f"let it end, or end it: `tenax cancel {execution_id}`",
            )
        plan = await context.plans.one(tx, row.plan_id)
        await load_missing_inputs(tx, [row])
    inputs = row.input or {}
    if changed:
        inputs = await context.reading.check(plan.workflow, {**inputs, **changed})
    return Start(
        plan=plan,
        plan_id=row.plan_id,
        input=inputs,
        base_dir=row.base_dir,
        retry_of=execution_id,
        original_execution=row.original_execution or execution_id,
        operator=OperatorData(action="retry", actor=actor, reason=reason),
    )
