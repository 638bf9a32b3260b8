"""Reads the figures of the window, the alerts, and what `tenax top` shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from tenax.engine.context import EngineContext
from tenax.engine.fleet.queue_rates import with_rates
from tenax.engine.fleet.workers import list_workers
from tenax.model.events import timestamp
from tenax.model.fleet.health import HEALTHS
from tenax.model.fleet.views import Worker
from tenax.model.metrics import figures as views
from tenax.model.metrics.alerts import AlertTerms, evaluate
from tenax.model.metrics.counts import LATENESS_BOUNDS
from tenax.store.connect import Connection
from tenax.store.fleet.queues import list_queues
from tenax.store.metrics import figures as metrics

MINUTES_SHOWN = 30  # minutes of throughput that an overview has
ROWS_SHOWN = 10  # failures and groups of failures that an overview has


def alert_terms(context: EngineContext) -> AlertTerms:
    settings = context.settings
    return AlertTerms(
        retry_rate=settings.alert_retry_rate,
        retry_success=settings.alert_retry_success,
        unhealthy=settings.alert_unhealthy,
        queue_depth=settings.alert_queue_depth,
        min_attempts=settings.alert_min_attempts,
    )


async def read_figures(context: EngineContext) -> views.Figures:
    live = await list_workers(context, gone=False)
    async with context.view_snapshot() as tx:
        return await figures_in(tx, context, live)


async def read_alerts(context: EngineContext) -> views.Alerts:
    figures = await read_figures(context)
    alerts = evaluate(figures, alert_terms(context))
    return views.Alerts(
        firing=any(alert.firing for alert in alerts),
        counted_until=figures.counted_until,
        window_seconds=figures.window_seconds,
        alerts=alerts,
    )


async def read_overview(context: EngineContext) -> views.Overview:
    live = await list_workers(context, gone=False)
    window = context.settings.metrics_window
    async with context.view_snapshot() as tx:
        figures = await figures_in(tx, context, live)
        lateness = await metrics.sum_lateness(tx, window)
        minutes = await metrics.list_minutes(tx, MINUTES_SHOWN)
        queues = await with_rates(tx, context, await list_queues(tx, context.settings.lease))
        groups = await metrics.group_failures(tx, window, ROWS_SHOWN)
        newest = await metrics.list_newest_failures(tx, ROWS_SHOWN)
    return views.Overview(
        figures=figures,
        lateness={"p50": bound_of(lateness, 0.5), "p99": bound_of(lateness, 0.99)},
        minutes=[
            views.MinuteCount(minute=timestamp(row["minute"]), attempts=row["ended"] or 0, failures=row["failures"] or 0)
            for row in minutes
        ],
        queues=queues,
        workers=live,
        groups=[
            views.FailureGroup(
                workflow=row["workflow"], step=row["step"], class_=row["class"], reason=row["reason"], failures=row["n"],
                last_minute=timestamp(row["last_minute"]),
            )
            for row in groups
        ],
        newest=[
            views.NewestFailure(
                execution_id=row["execution_id"], step=row["step"], item=row["item"], attempt=row["attempt"], class_=row["class"],
                reason=row["reason"], at=timestamp(row["at"]), due=timestamp(row["due"]), dead=row["dead"],
            )
            for row in newest
        ],
        alerts=evaluate(figures, alert_terms(context)),
    )  # fmt: skip


async def figures_in(tx: Connection, context: EngineContext, live: Sequence[Worker]) -> views.Figures:
    window = context.settings.metrics_window
    row = await metrics.sum_window(tx, window)
    health = Counter(worker.health for worker in live)
    depths = [worker.queue_depth for worker in live]
    rates = [worker.failure_rate for worker in live if worker.failure_rate is not None]
    return views.Figures(
        window_seconds=window,
        counted_until=timestamp(row["counted_at"]),
        first_attempts=row["first_attempts"],
        retries=row["retries"],
        retry_rate=_share(row["retries"], row["first_attempts"]),
        retries_succeeded=row["recovered"],
        retries_failed=row["failed_again"],
        retry_success_rate=_share(row["recovered"], row["recovered"] + row["failed_again"]),
        executions=row["executions"],
        executions_completed=row["completed"],
        executions_failed=row["failed"],
        retries_per_execution=_share(row["retries"], row["executions"]),
        attempts=row["ended"],
        failures=row["failures"],
        failure_rate=_share(row["failures"], row["ended"]),
        workers={name: health[name] for name in HEALTHS},
        unhealthy_rate=_share(health["unhealthy"], len(live)),
        average_queue_depth=_share(sum(depths), len(depths)),
        average_failure_rate=_share(sum(rates), len(rates)),
        dead_letters=row["dead_letters"],
    )


def bound_of(buckets: Mapping[int, int], share: float) -> float | None:
    """Returns the upper bound of the bucket within which this share of retries started. Returns None if there are none,
    or if it is the last bucket, which has no bound."""
    wanted, seen = share * sum(buckets.values()), 0
    for bucket, n in sorted(buckets.items()):
        seen += n
        if n and seen >= wanted:
            return LATENESS_BOUNDS[bucket] if bucket < len(LATENESS_BOUNDS) else None
    return None


def _share(part: float, whole: int) -> float | None:
    return part / whole if whole else None
