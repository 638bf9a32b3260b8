"""Leases that are handed back, uncounted; and items that nobody is left to run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import UNSET

from tenax.engine.context import Core
from tenax.engine.graph.fan_out import fan_key
from tenax.engine.graph.settle import settle
from tenax.engine.notifier import announce
from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.changes import ItemAgain, Run
from tenax.model.decision import Decision
from tenax.model.definition.workflow import Step
from tenax.model.events import event
from tenax.model.events.data import ReleasedLeaseData
from tenax.model.events.types import ItemCancelled, LeaseReleased
from tenax.model.wire import Release
from tenax.policy.outcome_events import EndedAttempt
from tenax.policy.queued_action import queue_deadline
from tenax.policy.transitions import check
from tenax.store.connect import Connection
from tenax.store.journal import Journal
from tenax.store.rows import ExecutionRow, FanRow, ItemRow
from tenax.store.tables import queue, workers
from tenax.store.tables.fan_outs import load_fans


async def release(core: Core, releases: Sequence[Release]) -> None:
    """Leases handed back, uncounted. One that no live worker has a handler for fails as `not_found`."""
    for back in releases:
        core.leased.take(back.token)
    async with core.transaction() as tx:
        executions, now = await queue.lock_executions(tx, [r.execution_id for r in releases])
        if now is None:
            return
        items = await _leased(tx, executions, releases)
        plans = await core.plans.load(tx, {item.plan_id for item in items})
        journal = Journal(now)
        keys = {fan_key(item) for item in items if item.item_no is not None}
        fans = await load_fans(tx, sorted(keys)) if keys else {}
        by_item = {r.item_id: r for r in releases}
        unknown: list[EndedAttempt] = []
        for item in items:
            back = by_item[item.id]
            refused = (
                tuple(sorted({*(item.refused_by or ()), str(item.worker)}))
                if back.reason == "no_handler"
                else ()
            )
            if refused and not await _others(tx, core, item, refused):
                unknown.append(EndedAttempt(item, _no_handler(item, back.detail)))
            elif _is_open(executions[item.execution_id], fans.get(fan_key(item)), item):
                _let_go(journal, item)
                step = plans[item.plan_id].action(item.step, compensates=item.compensates).step
                _hand_back(journal, item, step, back, refused or tuple(item.refused_by or ()))
            else:
                _let_go(journal, item)
                journal.ended_items.append(item.id)
                journal.log(item.execution_id, event(ItemCancelled, item.step, item=item.item_no))
            if executions[item.execution_id].failing:
                journal.failing[item.execution_id] = executions[item.execution_id]
        decisions = await settle(tx, core, journal, executions, unknown)
    for worker in {item.worker for item in items if item.worker is not None}:
        core.hub.listeners.handed_back(worker, [item.id for item in items if item.worker == worker])
    core.hub.announce(ready=True, special=True)
    _announce(core, journal, decisions)


async def _leased(
    tx: Connection, executions: Mapping[int, ExecutionRow], releases: Sequence[Release]
) -> list[ItemRow]:
    """Loads the items whose lease is still the one that is named, each once. A release that names another execution has no effect."""
    found = await queue.load_leased_items(tx, [r.item_id for r in releases], [r.token for r in releases])
    return list({item.id: item for item in found if item.execution_id in executions}.values())


def _announce(core: Core, journal: Journal, decisions: Sequence[Decision]) -> None:
    delays = [d.delay.delay for d in decisions if d.verdict == "retry" and d.delay is not None]
    announce(core.hub, journal, delays)


def _let_go(journal: Journal, item: ItemRow) -> None:
    """Its worker has it no more, and that says nothing of the worker."""
    journal.freed_limits += item.held_limits
    if item.worker is not None:
        journal.runs.append(Run(item.worker, item.id, item.started_at, "released"))


def _is_open(row: ExecutionRow, fan: FanRow | None, item: ItemRow) -> bool:
    """An execution that is failing goes on with nothing but its compensations; a fan-out that has failed with nothing."""
    if item.compensates:
        return row.open
    return row.open and not row.failing and (fan is None or not fan.closed)


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


async def _others(tx: Connection, core: Core, item: ItemRow, refused: tuple[str, ...]) -> bool:
    able = await workers.find_able_workers(tx, item.id, core.settings.lease)
    return bool(set(able) - set(refused))


def _no_handler(item: ItemRow, detail: str | None) -> Outcome:
    message = detail or f"no live worker has a handler for step {item.step}"
    return Outcome(
        "failed", facts=Facts(failure_class="not_found", reason="unknown_handler", message=message)
    )


async def give_up_unwanted(core: Core) -> int:
    """Items that every live worker has refused, and whose other workers are gone: nobody is left to run them."""
    async with core.transaction() as tx:
        found = await queue.find_unwanted_items(tx, core.settings.lease)
        executions, now = await queue.lock_executions(tx, [item.execution_id for item in found])
        if now is None:
            return 0
        journal = Journal(now)
        items = await queue.lock_unwanted_items(tx, [item.id for item in found])
        for item in items:
            item.attempt += 1
        ended = [EndedAttempt(item, _no_handler(item, None), "unwanted") for item in items]
        decisions = await settle(tx, core, journal, executions, ended)
    _announce(core, journal, decisions)
    return len(items)


async def release_grants(core: Core, worker: str, grants: Sequence[str]) -> None:
    """Leases whose answer never reached their worker."""
    async with core.transaction() as tx:
        found = await queue.find_granted_items(tx, grants, worker)
    if found:
        await release(
            core,
            [Release(execution_id, item_id, 0, token, "draining", "the grant never reached its worker")
             for item_id, execution_id, token in found],
        )  # fmt: skip
