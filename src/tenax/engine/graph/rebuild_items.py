"""Rebuilds the rows of work items from their events: of items that were lost, and of items that start again."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from tenax.engine.graph.execution_update import ExecutionUpdate
from tenax.engine.graph.start_steps import concurrency_keys_of, fan_out_item, list_of
from tenax.model.changes import StepRow
from tenax.model.decision import Ledger
from tenax.model.state.attempt import WorkState
from tenax.model.state.execution import StepState
from tenax.model.state.fan_out import ItemState
from tenax.policy.plan import PlannedStep
from tenax.policy.queued_action import vary_after
from tenax.policy.retry.poison import is_suspect
from tenax.policy.transition import ERROR_SHOWN
from tenax.settings import Settings
from tenax.store.connect import Connection
from tenax.store.journal import Journal
from tenax.store.rows import FanOutRow
from tenax.store.tables.fan_outs import (
    LostItem,
    LostResult,
    count_fan_out_rows,
    restore_item_results,
    restore_items,
)

_OVER = ("succeeded", "failed")


async def restore_fan_out_items(
    tx: Connection,
    journal: Journal,
    update: ExecutionUpdate,
    fan_out: FanOutRow,
    step: StepState,
    settings: Settings,
) -> int:
    """Inserts the items and results that the fan-out lacks, as its events record them, and counts it again. Attempts and due times stay as they were: a repair grants no attempts. A running item
    counts as lost, an ended one as ended. Returns the number of restored items and results."""
    key = (fan_out.execution_id, fan_out.step)
    numbers = await count_fan_out_rows(tx, key)
    missing = sorted(set(range(fan_out.total)) - numbers.live - numbers.ended)
    if missing:
        await _insert_missing(tx, journal, update, fan_out, step, settings, missing)
        numbers = await count_fan_out_rows(tx, key)
    fan_out.ended, fan_out.failed, fan_out.attempts = len(numbers.ended), numbers.failed, numbers.attempts
    if fan_out.parallelism is not None:
        fan_out.placed = numbers.placed
    journal.fan_outs[key] = fan_out
    return len(missing)


async def _insert_missing(
    tx: Connection,
    journal: Journal,
    update: ExecutionUpdate,
    fan_out: FanOutRow,
    step: StepState,
    settings: Settings,
    missing: list[int],
) -> None:
    planned = update.plan.steps[fan_out.step]
    elements = await list_of(tx, journal, update, planned)
    created_at = parse_event_time(step.enqueued_at) or journal.now
    keeps = planned.compensation is not None
    over = [
        _lost_result(state, elements[number] if keeps else None)
        for number in missing
        if (state := step.items.get(number)) is not None and state.status in _OVER
    ]
    if over:
        await restore_item_results(tx, (fan_out.execution_id, fan_out.step), over)
    gone = set(missing) - {one.number for one in over}
    lost = []
    for number in sorted(gone):
        element, state = elements[number], step.items.get(number)
        lost.append(
            lost_item(
                planned, state, journal.now, settings, number=number, element=element, queued_at=created_at
            )
            if state is not None and state.attempt
            else LostItem(number, element, created_at, journal.now)
        )
    keys = await concurrency_keys_of(
        tx, journal, update, planned, [(one.number, one.element) for one in lost]
    )
    if keys is not None:
        lost = [replace(one, key=key) for one, key in zip(lost, keys, strict=True)]
    item = fan_out_item(update, planned, fan_out.total)
    await restore_items(tx, item, lost, all_have_slots=fan_out.parallelism is None)


def _lost_result(item: ItemState, element: object) -> LostResult:
    succeeded = item.status == "succeeded"
    return LostResult(
        item.item,
        item.status,
        item.attempt,
        item.result if succeeded else None,
        None if succeeded else item.failure,
        element,
    )


def lost_item(
    planned: PlannedStep,
    state: WorkState,
    now: datetime,
    settings: Settings,
    *,
    number: int | None = None,
    element: object = None,
    queued_at: datetime | None = None,
) -> LostItem:
    """Rebuilds from its events an item whose row is gone. The item must have been tried at least once."""
    ledger = Ledger.from_dict(state.ledger or {}, elapsed=0.0)
    return LostItem(
        number,
        element,
        parse_event_time(state.enqueued_at) or queued_at or now,
        parse_event_time(state.available_at) or now,
        attempt=state.attempt,
        ledger=state.ledger,
        lost_worker=state.attempts[-1].worker if state.status == "running" else None,
        previous=state.previous,
        vary=vary_after(planned.policy.policy, ledger),
        awaited=_awaited(state),
        held_until=_held_until(state, settings.max_hold),
        suspect=is_suspect(ledger, settings.poison_after),
        id=state.item_id,
        started_at=_started_now(state, now),
        policy=state.policy,
        last_error=None if state.last_error is None else state.last_error[:ERROR_SHOWN],
    )


def _started_now(work: WorkState, now: datetime) -> datetime | None:
    """Returns the start of an attempt that begins in this transaction."""
    started_at = parse_event_time(work.attempts[-1].started_at) if work.attempts else None
    return started_at if started_at == now else None


def _held_until(work: WorkState, max_hold: float) -> datetime | None:
    """Returns when a hold ends at the latest, counted from the last attempt. Returns None if the item is not held."""
    since = parse_event_time(work.attempts[-1].ended_at) if work.status == "held" and work.attempts else None
    return None if since is None else since + timedelta(seconds=max_hold)


def _awaited(work: WorkState) -> tuple[str, datetime | None] | None:
    """Returns what an attempt without a worker waits for, and until when at most."""
    waiting = work.waiting
    if waiting is None:
        return None
    until = parse_event_time(waiting.get("until") or waiting.get("deadline_at"))
    name = f"signal:{waiting['signal']}" if waiting["for"] == "signal" else waiting["for"]
    return name, until


def parse_event_time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def ready_steps(
    journal: Journal, update: ExecutionUpdate, over: dict[str, StepRow], live: set[str]
) -> list[str]:
    """Returns the steps that nothing holds back. Writes the counters of the steps that still wait for some of their
    needs. A step that waits for all of its needs has no row."""
    ready: list[str] = []
    for name, planned in update.plan.steps.items():
        if name in over or name in live:
            continue
        left = [need for need in planned.step.needs if need not in over]
        if not left:
            ready.append(name)
        elif len(left) < len(planned.step.needs):
            journal.step(StepRow(update.row.id, name, "pending", len(left)))
    return ready


def ended_step(execution_id: int, step: StepState) -> StepRow:
    return StepRow(execution_id, step.step, step.status, 0, step.attempt, step.result, step.failure)
