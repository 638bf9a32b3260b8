"""Says how many attempts of each queue end in a minute, from the counts by minute.

The log does not name the queue of an attempt, so that no start on the hot path writes more for this. The counts are by step. So an attempt
counts for the queue in which the newest definition of its workflow has the step. For some minutes after a step has moved to another queue,
its older attempts count for that one too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

import msgspec

from tenax.engine.context import EngineContext
from tenax.model.fleet.views import Queue
from tenax.store.connect import Connection
from tenax.store.fleet import queues
from tenax.store.metrics import figures

WINDOW = timedelta(minutes=5)
"""The time before the newest counted minute. The rate is the average over both, so that it says something at once."""
MOST_STEPS = 1000  # steps with the most attempts, which are counted


async def with_rates(tx: Connection, context: EngineContext, found: Sequence[Queue]) -> list[Queue]:
    """Returns the queues with their rates. Before anything is counted they have none."""
    counted_at = await figures.counted_at(tx)
    if counted_at is None:
        return list(found)
    since = counted_at.replace(second=0, microsecond=0) - WINDOW
    minutes = (counted_at - since).total_seconds() / 60
    rows = await queues.sum_recent_ends(tx, since, MOST_STEPS)
    plans = await context.plans.load(tx, {row.plan_id for row in rows})
    ended: Counter[str] = Counter()
    for row in rows:
        plan = plans.get(row.plan_id)
        if plan is not None and row.step in plan.steps:
            ended[plan.steps[row.step].queued.queue] += row.ended
    return [
        msgspec.structs.replace(one, ended_per_minute=round(ended[one.queue] / minutes, 2)) for one in found
    ]
