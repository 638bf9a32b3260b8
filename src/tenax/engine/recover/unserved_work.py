"""Finds stuck work: items that no worker is able to run, and items blocked at a limit that has room."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import structlog

from tenax.engine.context import EngineContext
from tenax.engine.graph.settle import settle_found
from tenax.engine.isolate_failures import Found, IsolatedItems
from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.durations import format_duration
from tenax.policy.outcome_events import EndedAttempt
from tenax.policy.plan import Plan
from tenax.store import service
from tenax.store.connect import Connection
from tenax.store.fleet import queues
from tenax.store.journal import Journal
from tenax.store.rows import ItemRow
from tenax.store.tables import live_items

SEEK_EVERY = 10.0
"""The most seconds between two searches for items that no worker is able to run."""
KEYS_AT_ONCE = 300
"""Keys of limits that one search covers. The next search goes on from there."""
_log = structlog.get_logger("tenax.unserved_work")


class UnservedWork:
    """Searches for stuck work on the leading server, and remembers how far it has come."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context
        self._isolated = IsolatedItems()
        self._sought_at: datetime | None = None
        self._last_key = ""

    async def give_up_unserved(self) -> int:
        """Fails the items that no live worker was able to run for `worker_wait`. The failure is decided on like any
        other."""
        wait, lease = self._context.settings.worker_wait, self._context.settings.lease
        if wait is None:
            return 0
        async with self._context.transaction() as tx:
            now = await service.now(tx)
            since = (now - self._sought_at).total_seconds() if self._sought_at is not None else -1.0
            if 0 <= since < _seek_every(wait):  # below 0: the clock was set back
                return 0
            found = await queues.find_unserved_items(tx, wait, lease, self._isolated.ids)
        if not found:
            self._sought_at = now
        return await self._isolated.process(
            found, self._give_up, "a work item that nobody runs cannot be decided on"
        )

    async def _give_up(self, found: Sequence[Found]) -> int:
        return await settle_found(self._context, found, self._end)

    async def _end(self, tx: Connection, _journal: Journal, items: Sequence[int]) -> list[EndedAttempt]:
        wait = self._context.settings.worker_wait
        assert wait is not None
        ready = [
            item for item in await live_items.lock_items(tx, items) if item.state in ("queued", "retrying")
        ]
        plans = await self._context.plans.load(tx, {item.plan_id for item in ready})
        return [_unserved(item, plans[item.plan_id], wait) for item in ready]

    async def unblock_forgotten(self) -> int:
        """Unblocks items that wait at a limit that has room. Returns their number."""
        async with self._context.transaction() as tx:
            unblocked, last = await queues.unblock_forgotten_items(tx, self._last_key, KEYS_AT_ONCE)
        self._last_key = last or ""
        if unblocked:
            self._context.notifier.announce(ready=True, restricted=True)
        return unblocked


def _seek_every(wait: float) -> float:
    """Returns the seconds between two searches. With many ready items each search takes seconds."""
    return max(min(SEEK_EVERY, wait / 4), 1.0)


def _unserved(item: ItemRow, plan: Plan, wait: float) -> EndedAttempt:
    item.attempt += 1
    step = plan.action(item.step, compensates=item.compensates).step
    asks = f"runtime {step.type}, queue {step.queue}"
    if step.labels:
        asks += f", labels {', '.join(f'{name}={value}' for name, value in sorted(step.labels.items()))}"
    message = (
        f"no live worker was able to run it for {format_duration(wait)} (worker_wait): it asks for {asks}"
    )
    facts = Facts(failure_class="worker_unavailable", reason="worker_wait_expired", message=message)
    return EndedAttempt(item, Outcome("failed", facts=facts), "queue_expired")
