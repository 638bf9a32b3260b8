"""Releases leases that workers hand back, without counting an attempt, and fails items that no worker
is left to run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import UNSET

from tenax.engine.context import EngineContext
from tenax.engine.graph.budget_book import charge_unreported, is_in_tree
from tenax.engine.graph.fan_out import fan_out_key
from tenax.engine.graph.settle import delays_of, settle, settle_found
from tenax.engine.notifier import announce
from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.changes import ItemAgain, Run
from tenax.model.definition.workflow import Step
from tenax.model.events import event
from tenax.model.events.data import ReleasedLeaseData
from tenax.model.events.types import ItemCancelled, LeaseReleased
from tenax.model.wire import Release
from tenax.policy.outcome_events import EndedAttempt
from tenax.policy.queued_action import queue_deadline
from tenax.policy.transitions import check
from tenax.store.connect import Connection
from tenax.store.dispatch import able_workers
from tenax.store.journal import Journal
from tenax.store.rows import ExecutionRow, FanOutRow, ItemRow
from tenax.store.tables import due_items, live_items
from tenax.store.tables.fan_outs import load_fan_outs


async def release(context: EngineContext, releases: Sequence[Release]) -> None:
    """Releases leases that workers hand back; no attempt is counted. An item that no live worker has a handler for
    fails as `not_found`."""
    for back in releases:
        context.lease_cache.take(back.token)
    async with context.transaction() as tx:
        executions, now = await live_items.lock_executions(tx, [r.execution_id for r in releases])
        if now is None:
            return
        items = await _leased(tx, executions, releases)
        plans = await context.plans.load(tx, {item.plan_id for item in items})
        journal = Journal(now)
        keys = {fan_out_key(item) for item in items if item.item_no is not None}
        fan_outs = await load_fan_outs(tx, sorted(keys)) if keys else {}
        by_item = {r.item_id: r for r in releases}
        unknown: list[EndedAttempt] = []
        handed_back: list[ItemRow] = []
        over: list[ItemRow] = []
        for item in items:
            back = by_item[item.id]
            refused = (
                tuple(sorted({*(item.refused_by or ()), str(item.worker)}))
                if back.reason == "no_handler"
                else ()
            )
            if refused and not await _others(tx, context, item, refused):
                unknown.append(EndedAttempt(item, _no_handler(item, back.detail)))
            elif _is_open(executions[item.execution_id], fan_outs.get(fan_out_key(item)), item):
                _let_go(journal, item)
                handed_back.append(item)
                step = plans[item.plan_id].action(item.step, compensates=item.compensates).step
                _hand_back(journal, item, step, back, refused or tuple(item.refused_by or ()))
            else:
                _let_go(journal, item)
                over.append(item)
                journal.ended_items.append(item.id)
                journal.log(item.execution_id, event(ItemCancelled, item.step, item=item.item_no))
            if executions[item.execution_id].failing:
                journal.failing[item.execution_id] = executions[item.execution_id]
        if any(is_in_tree(item.ledger) for item in items):
            await charge_unreported(tx, journal, handed_back, "handed_back", ended=False)
            await charge_unreported(tx, journal, over, "handed_back")
        decisions = await settle(tx, context, journal, executions, unknown)
    for worker in {item.worker for item in items if item.worker is not None}:
        context.notifier.listeners.handed_back(worker, [item.id for item in items if item.worker == worker])
    context.notifier.announce(ready=True, restricted=True)
    announce(context.notifier, journal, delays_of(decisions))


async def _leased(
    tx: Connection, executions: Mapping[int, ExecutionRow], releases: Sequence[Release]
) -> list[ItemRow]:
    """Loads each item whose lease is still the named one. A release that names another execution has no effect."""
    found = await live_items.load_leased_items(tx, [r.item_id for r in releases], [r.token for r in releases])
    return list({item.id: item for item in found if item.execution_id in executions}.values())


def _let_go(journal: Journal, item: ItemRow) -> None:
    """Ends the lease of an item. The release says nothing about the worker's health."""
    journal.freed_limits += item.held_limits
    if item.worker is not None:
        journal.runs.append(Run(item.worker, item.id, item.started_at, "released"))


def _is_open(row: ExecutionRow, fan_out: FanOutRow | None, item: ItemRow) -> bool:
    """Returns whether the item may run again. A failing execution runs only its compensations, and a failed fan-out
    runs nothing."""
    if item.compensates:
        return row.open
    return row.open and not row.failing and (fan_out is None or not fan_out.closed)


def _hand_back(journal: Journal, item: ItemRow, step: Step, back: Release, refused: tuple[str, ...]) -> None:
    compensation = True if item.compensates else UNSET
    data = ReleasedLeaseData(
        worker=item.worker, reason=back.reason, detail=back.detail, compensation=compensation
    )
    journal.log(
        item.execution_id,
        event(LeaseReleased, item.step, item=item.item_no, attempt=item.attempt, data=data),
    )
    check("item", item.state, "queued")
    again = ItemAgain(
        item.id, item.execution_id, item.step, item.item_no, "queued", journal.now, queue_deadline(step, journal.now),
        item.attempt, refused_by=refused,
    )  # fmt: skip
    journal.items_again.append(again)


async def _others(tx: Connection, context: EngineContext, item: ItemRow, refused: tuple[str, ...]) -> bool:
    able = await able_workers.find_able_workers(tx, item.id, context.settings.lease)
    return bool(set(able) - set(refused))


def _no_handler(item: ItemRow, detail: str | None) -> Outcome:
    message = detail or f"no live worker has a handler for step {item.step}"
    return Outcome(
        "failed", facts=Facts(failure_class="not_found", reason="unknown_handler", message=message)
    )


async def give_up_unwanted(context: EngineContext) -> int:
    """Fails items that every live worker has refused and whose other workers are gone."""
    async with context.transaction() as tx:
        found = await due_items.find_unwanted_items(tx, context.settings.lease)
    return await settle_found(context, found, _give_up)


async def _give_up(tx: Connection, _journal: Journal, ids: Sequence[int]) -> list[EndedAttempt]:
    items = [item for item in await live_items.lock_items(tx, ids) if _is_unwanted(item)]
    for item in items:
        item.attempt += 1
    return [EndedAttempt(item, _no_handler(item, None), "unwanted") for item in items]


def _is_unwanted(item: ItemRow) -> bool:
    return item.refused_by is not None and item.state in ("queued", "retrying")


async def release_grants(context: EngineContext, worker: str, grants: Sequence[str]) -> None:
    """Releases the leases whose answer never reached their worker."""
    async with context.transaction() as tx:
        found = await live_items.find_leases_of_grants(tx, grants, worker)
    if found:
        await release(
            context,
            [Release(execution_id, item_id, 0, token, "draining", "the grant never reached its worker")
             for item_id, execution_id, token in found],
        )  # fmt: skip
