"""Decides on everything that has expired: leases, timeouts, times in the queue, deadlines. The decision takes the same
path as a reported failure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import structlog

from tenax.engine.context import EngineContext
from tenax.engine.graph.budget_book import with_told_usage
from tenax.engine.graph.compensation import write
from tenax.engine.graph.end_execution import cancel_waiting, fail_execution
from tenax.engine.graph.recorded_results import with_recorded_results
from tenax.engine.graph.settle import settle_found
from tenax.engine.isolate_failures import Found, IsolatedItems
from tenax.engine.notifier import announce
from tenax.model.attempt.outcome import Facts, FailureClass, Outcome
from tenax.model.durations import format_duration
from tenax.policy.outcome_events import EndedAttempt
from tenax.policy.plan import Plan
from tenax.store import service
from tenax.store.connect import Connection
from tenax.store.dispatch.able_workers import find_served_items
from tenax.store.journal import Journal
from tenax.store.rows import ExpiredItem, ItemRow
from tenax.store.tables import due_items, live_items

BATCH = 500  # expired items that one transaction handles
_log = structlog.get_logger("tenax.reap")


class Reaper:
    """Finds expired items and decides on them. An item that cannot be decided on is logged and isolated for a while."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context
        self._isolated = IsolatedItems()

    @property
    def isolated(self) -> list[int]:
        """Ids of the items that are isolated now."""
        return self._isolated.ids

    async def reap(self) -> int:
        """Decides on everything that has expired by now. Returns the number of items and executions handled."""
        count = 0
        while reaped := await self._reap_items() + await _reap_executions(self._context):
            count += reaped
        return count

    async def _reap_items(self) -> int:
        settings = self._context.settings
        async with self._context.transaction() as tx:
            # A gap in service is detected before any item expires.
            await service.beat_service(tx, settings.lease, settings.probe_after)
            found = await due_items.find_expired_items(tx, BATCH, self.isolated)
        return await self._isolated.process(found, self._decide, "an expired work item cannot be decided on")

    async def _decide(self, found: Sequence[Found]) -> int:
        return await settle_found(self._context, found, self._end)

    async def _end(self, tx: Connection, _journal: Journal, ids: Sequence[int]) -> list[EndedAttempt]:
        context = self._context
        items = await due_items.lock_expired_items(tx, ids)
        waited = [item.id for item in items if item.state in ("queued", "retrying")]
        served = await find_served_items(tx, waited, context.settings.lease) if waited else set()
        plans = await context.plans.load(tx, {item.plan_id for item in items})
        ended = [_expired(context, plans[item.plan_id], item, is_served=item.id in served) for item in items]
        return await with_recorded_results(tx, await with_told_usage(tx, ended))


def _expired(context: EngineContext, plan: Plan, item: ExpiredItem, *, is_served: bool) -> EndedAttempt:
    """Returns how the attempt of an expired item ended. `is_served` tells whether a live worker is able to run the
    item."""
    if item.state == "accepted":
        return _waited(item)
    if item.state == "held":
        message = f"it was held for {format_duration(context.settings.max_hold)} (max_hold)"
        facts = Facts(failure_class="worker_lost", reason="hold_expired", message=message)
        return EndedAttempt(item, Outcome("failed", facts=facts), "hold_expired")
    if item.state != "leased":
        queue_ttl = plan.action(item.step, compensates=item.compensates).step.queue_ttl
        return _expired_in_queue(item, queue_ttl, is_served=is_served)
    if item.timed_out:
        return _timed_out(context, item)
    message = f"worker {item.worker} sent no heartbeat for {format_duration(context.settings.lease)}"
    facts = Facts(failure_class="worker_lost", reason="worker_heartbeat_stale", message=message)
    return EndedAttempt(item, Outcome("failed", facts=facts), "lease_expired", lost=item.loss)


def _expired_in_queue(item: ExpiredItem, queue_ttl: float | None, *, is_served: bool) -> EndedAttempt:
    """Returns the end of an item that waited longer than its `queue_ttl`, for its turn or for a worker that is able to
    run it."""
    item.attempt += 1
    message = f"not leased within {format_duration(queue_ttl or 0.0)} (queue_ttl)"
    if not is_served:
        message += ": no live worker is able to run it"
    failure_class: FailureClass = "queue_timeout" if is_served else "worker_unavailable"
    facts = Facts(failure_class=failure_class, reason="queue_ttl_expired", message=message)
    return EndedAttempt(item, Outcome("failed", facts=facts), "queue_expired")


def _timed_out(context: EngineContext, item: ExpiredItem) -> EndedAttempt:
    """Returns the end of an attempt that exceeded its timeout, which its worker should have reported. A worker that was
    silent by then counts as lost, even if its lease had not expired."""
    said, lost = "did not say so", None
    if _was_silent(context, item, item.expires_at):
        said, lost = f"({item.worker}) had fallen silent before", item.loss
    facts = Facts(timed_out=True, message=f"the attempt outlived its timeout, and its worker {said}")
    return EndedAttempt(item, Outcome("failed", facts=facts), "timed_out", lost=lost)


def _was_silent(context: EngineContext, item: ExpiredItem, by: datetime) -> bool:
    """Returns whether a heartbeat of the worker was overdue by then, or another life of it had begun. Returns False for
    an unknown worker."""
    if item.last_heartbeat is None:
        return False
    settings = context.settings
    due = item.last_heartbeat + timedelta(seconds=settings.heartbeat + settings.timeout_grace)
    return due <= by or not item.of_this_life


def _waited(item: ItemRow) -> EndedAttempt:
    """Returns the end of a wait without a worker: a sleep is over, anything else is too late."""
    if item.runtime == "sleep":
        return EndedAttempt(item, Outcome("succeeded"), "ended")
    reason, words = _LATE.get(
        item.awaiting or "", ("attempt_timeout", "the child did not end within the step's timeout")
    )
    if item.runtime == "wait":
        reason, words = "wait_deadline", f"{_awaited(item)} did not come by the deadline"
    facts = Facts(failure_class="timeout", reason=reason, message=words)
    return EndedAttempt(item, Outcome("failed", facts=facts), "timed_out")


_LATE = {"callback": ("callback_deadline", "the callee accepted it, and did not call back by the deadline")}


def _awaited(item: ItemRow) -> str:
    name = (item.awaiting or "").removeprefix("signal:")
    return "the approval" if item.awaiting == "approval" else f"the signal `{name}`"


async def _reap_executions(context: EngineContext) -> int:
    async with context.transaction() as tx:
        found = await due_items.find_expired_executions(tx, BATCH)
    return sum([await _reap_execution(context, execution_id) for execution_id in found])


async def _reap_execution(context: EngineContext, execution_id: int) -> int:
    async with context.transaction() as tx:
        executions, now = await live_items.lock_executions(tx, [execution_id])
        if now is None or not executions[execution_id].open or executions[execution_id].failing:
            return 0
        row, journal = executions[execution_id], Journal(now)
        plan = (await context.plans.load(tx, [row.plan_id])).get(row.plan_id)
        await cancel_waiting(tx, journal, [row.id])
        limit = (row.deadline_at - row.created_at).total_seconds() if row.deadline_at is not None else 0.0
        message = f"the execution did not end within its deadline of {format_duration(limit)}"
        failure = {"class": "timeout", "reason": "execution_deadline", "message": message}
        # No child may run longer than its parent, especially if compensations wait for it.
        journal.cancels += await live_items.find_awaited_children(tx, row.id)
        fail_execution(journal, row, plan, failure)
        await write(tx, context, journal)
    announce(context.notifier, journal)
    return 1
