"""Starts the executions that were submitted to start later."""

from __future__ import annotations

import structlog

from tenax.engine.context import EngineContext
from tenax.engine.operate import family
from tenax.errors import Conflict, TenaxError, Unreachable
from tenax.store.fleet import workflow_pauses
from tenax.store.schedules import delayed_starts

AT_ONCE = 100  # executions that one query finds
_log = structlog.get_logger("tenax.schedules")


async def start_delayed(context: EngineContext) -> int:
    """Starts executions whose start is due. Returns the number of those that it has dealt with."""
    async with context.transaction() as tx:
        due = await delayed_starts.find_due_starts(tx, AT_ONCE)
        pauses = await workflow_pauses.load_pauses(tx) if due else {}
        kept = {id_: name for id_, name in due if name in pauses and pauses[name].holds}
        if kept:  # they start when their workflow goes on
            await workflow_pauses.note_paused(tx, kept)
            await delayed_starts.end_delays(tx, list(kept))
    for id_, _ in due:
        if id_ not in kept:
            await _start(context, id_)
    return len(due)


async def _start(context: EngineContext, execution_id: int) -> None:
    started = False
    try:
        started = await family.resume_delayed(context, execution_id)
    except Conflict:
        pass  # it was cancelled
    except Unreachable:
        raise
    except TenaxError as error:
        _log.error("an execution could not be started", execution_id=execution_id, error=str(error))
    if not started:
        async with context.transaction() as tx:
            await delayed_starts.end_delays(tx, [execution_id])
