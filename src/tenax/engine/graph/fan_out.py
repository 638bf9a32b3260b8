"""Ends fan-outs. Each item ends by itself. The step ends when all items have ended or too many have failed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import UNSET

from tenax.engine.context import EngineContext
from tenax.engine.graph.end_execution import cancel_items
from tenax.engine.graph.execution_update import ExecutionUpdate
from tenax.engine.notifier import announce
from tenax.errors import TooLarge
from tenax.model.changes import StepRow
from tenax.model.definition.workflow import OnFailure
from tenax.model.events import event
from tenax.model.events.data import StepCompletedData, StepFailedData
from tenax.model.events.parts import ItemCounts
from tenax.model.events.types import StepCompleted, StepFailedTerminal
from tenax.policy.outcome_events import Item
from tenax.store.connect import Connection
from tenax.store.journal import Journal
from tenax.store.rows import FanOutRow
from tenax.store.tables import live_items
from tenax.store.tables.fan_outs import (
    close_fan_out,
    find_free_slots,
    load_last_failure,
    load_open_fan_outs,
)
from tenax.store.tables.steps import StepKey

FILLED_AT_ONCE = 200  # executions whose fan-outs get slots in one transaction


def fan_out_key(item: Item) -> StepKey:
    return (item.execution_id, item.step)


async def close_fan_outs(
    tx: Connection,
    journal: Journal,
    update_of: Callable[[int], ExecutionUpdate],
    fan_outs: Iterable[FanOutRow],
) -> None:
    """Ends the steps whose items have all ended, or of which too many have failed. Nothing follows if the execution is
    over."""
    for fan_out in fan_outs:
        update = update_of(fan_out.execution_id)
        is_open = update.row.open and not update.row.failing
        if fan_out.closed or (
            fan_out.ended < fan_out.total and not (is_open and fan_out.failed > fan_out.tolerated)
        ):
            continue
        on_failure = update.plan.steps[fan_out.step].step.on_failure if is_open else None
        if fan_out.failed > fan_out.tolerated:
            step = await _fail(tx, journal, fan_out, on_failure)
        else:
            step = await _complete(tx, journal, fan_out, on_failure)
        if is_open:
            update.ended.append(step)


async def _complete(
    tx: Connection, journal: Journal, fan_out: FanOutRow, on_failure: OnFailure | None
) -> StepRow:
    fan_out.closed = True
    await journal.write_item_results(tx)
    try:
        await close_fan_out(tx, fan_out, "completed", None)
    except TooLarge as error:
        failure = {
            "class": "invalid",
            "reason": "result_too_large",
            "message": str(error),
            "attempts": fan_out.attempts,
        }
        return await _end_failed(
            tx, journal, fan_out, failure, "its result cannot be put together", on_failure
        )
    data = StepCompletedData(attempts=fan_out.attempts, items=_counts(fan_out))
    journal.log(fan_out.execution_id, event(StepCompleted, fan_out.step, data=data))
    return StepRow(fan_out.execution_id, fan_out.step, "completed", attempts=fan_out.attempts, stored=True)


async def _fail(
    tx: Connection, journal: Journal, fan_out: FanOutRow, on_failure: OnFailure | None
) -> StepRow:
    """Fails the step because more items failed than are tolerated. Waiting items are cancelled, running items may
    finish."""
    fan_out.closed = True
    await journal.write_item_results(tx)
    last = await load_last_failure(tx, fan_out)
    tolerated = f", {fan_out.tolerated} tolerated" if fan_out.tolerated else ""
    words = f"{fan_out.failed} of {fan_out.total} items failed{tolerated}; the last: {last['message']}"
    failure = {**last, "message": words, "attempts": fan_out.attempts}
    await cancel_items(tx, journal, [fan_out.execution_id], running_too=False, steps=[fan_out.step])
    return await _end_failed(
        tx, journal, fan_out, failure, "more items failed than are tolerated", on_failure
    )


async def _end_failed(
    tx: Connection,
    journal: Journal,
    fan_out: FanOutRow,
    failure: dict[str, Any],
    reason: str,
    on_failure: OnFailure | None,
) -> StepRow:
    data = StepFailedData(
        attempts=fan_out.attempts,
        final_error=failure["message"],
        reason=reason,
        failure=failure,
        items=_counts(fan_out),
        on_failure=on_failure.action if on_failure is not None else UNSET,
    )
    journal.log(fan_out.execution_id, event(StepFailedTerminal, fan_out.step, data=data))
    try:
        await close_fan_out(tx, fan_out, "failed", failure)
    except TooLarge:
        await close_fan_out(tx, fan_out, "failed", failure, gather=False)
    return StepRow(
        fan_out.execution_id, fan_out.step, "failed", attempts=fan_out.attempts, failure=failure, stored=True
    )


def _counts(fan_out: FanOutRow) -> ItemCounts:
    return ItemCounts(total=fan_out.total, succeeded=fan_out.ended - fan_out.failed, failed=fan_out.failed)


async def fill_slots(context: EngineContext) -> int:
    """Gives free slots of fan-outs to their retries that are due. Returns the number of slots given."""
    async with context.transaction() as tx:
        found = await find_free_slots(tx, FILLED_AT_ONCE)
        if not found:
            return 0
        executions, now = await live_items.lock_executions(tx, found)
        if now is None:
            return 0
        journal = Journal(now)
        is_open = [row.id for row in executions.values() if row.open and not row.failing]
        for fan_out in await load_open_fan_outs(tx, is_open):
            journal.fan_outs[fan_out.execution_id, fan_out.step] = fan_out
        await journal.write(tx)
    announce(context.notifier, journal)
    return journal.slots_filled
