"""Fan-outs: each item ends by itself, and the step when all have, or when too many have failed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import UNSET

from tenax.engine.context import Core
from tenax.engine.graph.end_execution import cancel_items
from tenax.engine.graph.turn import Turn
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
from tenax.store.rows import FanRow
from tenax.store.tables import queue
from tenax.store.tables.fan_outs import (
    close_fan,
    close_fan_without_result,
    find_placeable,
    load_last_failure,
    load_open_fans,
)
from tenax.store.tables.steps import StepKey

FED_AT_ONCE = 200


def fan_key(item: Item) -> StepKey:
    return (item.execution_id, item.step)


async def close_fans(
    tx: Connection, journal: Journal, turn_of: Callable[[int], Turn], fans: Iterable[FanRow]
) -> None:
    """Ends the steps of which every item has ended, or too many have failed. Nothing follows where the execution is over."""
    for fan in fans:
        turn = turn_of(fan.execution_id)
        is_open = turn.row.open and not turn.row.failing
        if fan.closed or (fan.ended < fan.total and not (is_open and fan.failed > fan.tolerated)):
            continue
        on_failure = turn.plan.steps[fan.step].step.on_failure if is_open else None
        if fan.failed > fan.tolerated:
            step = await _fail(tx, journal, fan, on_failure)
        else:
            step = await _complete(tx, journal, fan, on_failure)
        if is_open:
            turn.ended.append(step)


async def _complete(tx: Connection, journal: Journal, fan: FanRow, on_failure: OnFailure | None) -> StepRow:
    fan.closed = True
    await journal.write_item_results(tx)
    try:
        await close_fan(tx, fan, "completed", None)
    except TooLarge as error:
        failure = {
            "class": "invalid",
            "reason": "result_too_large",
            "message": str(error),
            "attempts": fan.attempts,
        }
        return await _end_failed(tx, journal, fan, failure, "its result cannot be put together", on_failure)
    data = StepCompletedData(attempts=fan.attempts, items=_counts(fan))
    journal.log(fan.execution_id, event(StepCompleted, fan.step, data=data))
    return StepRow(fan.execution_id, fan.step, "completed", attempts=fan.attempts, stored=True)


async def _fail(tx: Connection, journal: Journal, fan: FanRow, on_failure: OnFailure | None) -> StepRow:
    """Beyond what is tolerated: what waits is cancelled, what runs may finish."""
    fan.closed = True
    await journal.write_item_results(tx)
    last = await load_last_failure(tx, fan)
    tolerated = f", {fan.tolerated} tolerated" if fan.tolerated else ""
    words = f"{fan.failed} of {fan.total} items failed{tolerated}; the last: {last['message']}"
    failure = {**last, "message": words, "attempts": fan.attempts}
    await cancel_items(tx, journal, [fan.execution_id], running_too=False, steps=[fan.step])
    return await _end_failed(tx, journal, fan, failure, "more items failed than are tolerated", on_failure)


async def _end_failed(
    tx: Connection,
    journal: Journal,
    fan: FanRow,
    failure: dict[str, Any],
    reason: str,
    on_failure: OnFailure | None,
) -> StepRow:
    data = StepFailedData(
        attempts=fan.attempts,
        final_error=failure["message"],
        reason=reason,
        failure=failure,
        items=_counts(fan),
        on_failure=on_failure.action if on_failure is not None else UNSET,
    )
    journal.log(fan.execution_id, event(StepFailedTerminal, fan.step, data=data))
    try:
        await close_fan(tx, fan, "failed", failure)
    except TooLarge:
        await close_fan_without_result(tx, fan, failure)
    return StepRow(fan.execution_id, fan.step, "failed", attempts=fan.attempts, failure=failure, stored=True)


def _counts(fan: FanRow) -> ItemCounts:
    return ItemCounts(total=fan.total, succeeded=fan.ended - fan.failed, failed=fan.failed)


async def feed(core: Core) -> int:
    """Retries of fan-outs that are due get the places that are free. Returns how many did."""
    async with core.transaction() as tx:
        found = await find_placeable(tx, FED_AT_ONCE)
        if not found:
            return 0
        executions, now = await queue.lock_executions(tx, found)
        if now is None:
            return 0
        journal = Journal(now)
        is_open = [row.id for row in executions.values() if row.open and not row.failing]
        for fan in await load_open_fans(tx, is_open):
            journal.fans[fan.execution_id, fan.step] = fan
        await journal.write(tx)
    announce(core.hub, journal)
    return journal.placed
