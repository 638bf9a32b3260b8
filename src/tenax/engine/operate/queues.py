"""Lists queues, sets their limits, and pauses them."""

from __future__ import annotations

import math

from tenax.engine.context import EngineContext
from tenax.engine.fleet.queue_rates import with_rates
from tenax.errors import UsageError
from tenax.model.events import event
from tenax.model.events.data import OperatorData
from tenax.model.events.types import OperatorAction
from tenax.model.fleet.queue_limits import MAX_LIMIT, MIN_RATE, usual_burst
from tenax.model.fleet.views import LimitAnswer, Queue
from tenax.model.names import name_fault
from tenax.model.source.findings import shorten
from tenax.store.fleet import queues, workers


async def list_queues(context: EngineContext) -> list[Queue]:
    async with context.view() as tx:
        return await with_rates(tx, context, await queues.list_queues(tx, context.settings.lease))


async def limit_queue(
    context: EngineContext,
    queue: str,
    *,
    concurrency: int | None,
    rate: float | None,
    burst: int | None,
    actor: str,
    reason: str | None,
) -> LimitAnswer:
    """Sets the limits of a queue to exactly these. None removes a limit."""
    _check(queue, concurrency, rate, burst)
    if rate is not None and burst is None:
        burst = usual_burst(rate)
    async with context.transaction() as tx:
        await queues.limit_queue(tx, queue, concurrency=concurrency, rate=rate, burst=burst)
        data = OperatorData(
            action="queue_limit",
            queue=queue,
            concurrency=concurrency,
            rate=rate,
            burst=burst,
            actor=actor,
            reason=reason,
        )
        await workers.log_action(tx, event(OperatorAction, data=data))
    context.notifier.announce(ready=True, fleet=True)
    return LimitAnswer(queue=queue, concurrency=concurrency, rate=rate, burst=burst)


async def pause_queue(
    context: EngineContext, queue: str, *, paused: bool, actor: str, reason: str | None
) -> bool:
    """Pauses a queue, so that none of its items starts, or resumes it. Returns False if it was so already."""
    _check(queue, None, None, None)
    async with context.transaction() as tx:
        if paused:
            changed = await queues.pause_queue(tx, queue, actor, reason)
        else:
            changed = await queues.resume_queue(tx, queue)
        if changed:
            action = "queue_pause" if paused else "queue_resume"
            data = OperatorData(action=action, queue=queue, actor=actor, reason=reason)
            await workers.log_action(tx, event(OperatorAction, data=data))
    context.notifier.announce(ready=True, fleet=True)
    return changed


def _check(queue: str, concurrency: int | None, rate: float | None, burst: int | None) -> None:
    if (fault := name_fault(queue)) is not None:
        raise UsageError(f"the queue {shorten(repr(queue))} {fault}")
    if concurrency is not None and not 1 <= concurrency <= MAX_LIMIT:
        raise UsageError(f"`concurrency` must be from 1 to {MAX_LIMIT}, not {concurrency}")
    if rate is not None and not (math.isfinite(rate) and MIN_RATE <= rate <= MAX_LIMIT):
        raise UsageError(f"`rate` must be from one a day to {MAX_LIMIT} a second, not {rate:g} a second")
    if burst is not None and rate is None:
        raise UsageError("`burst` is how many of a `rate` may start at once: give a `rate` as well")
    if burst is not None and not 1 <= burst <= MAX_LIMIT:
        raise UsageError(f"`burst` must be from 1 to {MAX_LIMIT}, not {burst}")
