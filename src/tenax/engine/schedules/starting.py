"""Prepares executions of schedules, and writes them in the transaction that moves the schedule on."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tenax.engine.context import EngineContext
from tenax.engine.graph.start_execution import OWN_KEYS, Start, insert_keyed
from tenax.engine.submit.resolve_definitions import plans_of
from tenax.model.schedule.moments import moment_text
from tenax.model.wire import Submission
from tenax.store.connect import Connection


async def prepare_start(context: EngineContext, workflow: str, given: Mapping[str, Any]) -> Start:
    """Prepares an execution of a stored workflow as its name is meant now. Raises NotFound or InvalidInput."""
    [(plan, plan_id)] = await plans_of(context, [Submission(workflow=workflow)])
    return Start(plan, plan_id, await context.reading.check(plan.workflow, dict(given)))


async def start_in(tx: Connection, context: EngineContext, now: datetime, start: Start) -> int:
    """Writes the execution in this transaction. If its key was used before, returns the execution that has it."""
    return await insert_keyed(tx, context, now, start)


def tick_key(name: str, tick: datetime) -> str:
    """Returns the key of the execution of a tick. Two servers that start the same tick get the same execution."""
    return f"{OWN_KEYS}schedule:{name}:{moment_text(tick)}"


def announce_start(context: EngineContext, start: Start) -> None:
    """Tells the servers that there is work, after the commit."""
    server_steps = start.plan.has_server_steps or start.budgeted
    context.notifier.announce(ready=True, server_steps=server_steps, due_in=start.plan.soonest)
