"""Ends a life of a worker whose process was seen to die. Its leases are lost at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import structlog

from tenax.engine.context import EngineContext
from tenax.engine.graph.budget_book import with_told_usage
from tenax.engine.graph.recorded_results import with_recorded_results
from tenax.engine.graph.settle import settle_found
from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.wire import EndedLife
from tenax.policy.outcome_events import EndedAttempt
from tenax.store.connect import Connection
from tenax.store.fleet.workers import find_leases_of_life
from tenax.store.journal import Journal
from tenax.store.rows import ExpiredItem
from tenax.store.tables import due_items

BATCH = 500  # leases that one transaction decides on
_log = structlog.get_logger("tenax.fleet")


async def end_life(context: EngineContext, ended: EndedLife) -> int:
    """Decides on all leases of an ended life as on those of a lost worker. Returns their number.

    Only the latest life of a name can be ended. The leases of an earlier life, whose name was taken over, expire by
    themselves.
    """
    lost = 0
    while True:
        async with context.transaction() as tx:
            found = await find_leases_of_life(tx, ended.worker, ended.life, BATCH)
        decided = await settle_found(context, found, partial(_lose, ended))
        lost += decided
        if not decided:
            break
    if lost:
        _log.warning("a worker has died while it held leases", worker=ended.worker, leases=lost)
    return lost


async def _lose(
    ended: EndedLife, tx: Connection, _journal: Journal, items: Sequence[int]
) -> list[EndedAttempt]:
    locked = await due_items.lock_expired_items(tx, items, life=ended.life)
    lost = [item for item in locked if item.worker == ended.worker and item.of_this_life]
    return await with_recorded_results(tx, await with_told_usage(tx, [_died(item) for item in lost]))


def _died(item: ExpiredItem) -> EndedAttempt:
    message = f"the process of worker {item.worker} ended while the attempt ran"
    facts = Facts(failure_class="worker_lost", reason="worker_died", message=message)
    return EndedAttempt(item, Outcome("failed", facts=facts), "lease_expired", lost=item.loss)
