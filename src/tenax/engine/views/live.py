"""Shows what running attempts tell: their progress, and their output."""

from __future__ import annotations

from datetime import datetime

from tenax.engine.context import EngineContext, no_execution
from tenax.model.attempt.live_views import OutputPage, StepProgress
from tenax.model.events import timestamp
from tenax.store.connect import Connection
from tenax.store.live import output
from tenax.store.live.progress import ToldProgress, list_progress
from tenax.store.tables.executions import get_execution


async def read_progress(tx: Connection, execution_id: int) -> list[StepProgress]:
    """Returns how far the running steps of an execution are, as far as that is known."""
    return [progress_of(told) for told in await list_progress(tx, execution_id)]


async def get_progress(context: EngineContext, execution_id: int) -> list[StepProgress]:
    async with context.view() as tx:
        found = await read_progress(tx, execution_id)
        if not found and await get_execution(tx, execution_id) is None:
            raise no_execution(execution_id)
    return found


def progress_of(told: ToldProgress) -> StepProgress:
    fraction, began = told.fraction, told.started_at
    if told.total:
        fraction, began = ((told.ended or 0) + (told.fractions or 0.0)) / told.total, told.began
    return StepProgress(
        step=told.step,
        compensation=told.compensates,
        fraction=None if fraction is None else min(1.0, fraction),
        message=told.message,
        item=told.item_no,
        at=timestamp(told.at),
        seconds_left=_seconds_left(fraction, began, told.now),
    )


def _seconds_left(fraction: float | None, began: datetime | None, now: datetime) -> float | None:
    """Returns the time that the rest takes at the pace so far. Returns None if there is no pace yet."""
    if began is None or not fraction:
        return None
    elapsed = (now - began).total_seconds()
    return round(max(0.0, elapsed * (1 - fraction) / fraction), 1)


async def read_output(
    context: EngineContext,
    execution_id: int,
    *,
    after: int,
    step: str | None,
    item: int | None,
    attempt: int | None,
) -> OutputPage:
    """Returns a page of what the attempts of an execution have printed."""
    async with context.view() as tx:
        found = await output.list_output(tx, execution_id, after, step, item, attempt)
        row = await get_execution(tx, execution_id)
        if row is None:
            raise no_execution(execution_id)
    size = sum(chunk.size for _, chunk in found)
    return OutputPage(
        chunks=[chunk for _, chunk in found],
        cursor=found[-1][0] if found else after,
        more=size >= output.PAGE_BYTES or len(found) >= output.PAGE_PARTS,
        finished=not row.open,
    )
