"""Reads how often retries succeeded, after which failures, and the time that they cost."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from tenax.engine.context import EngineContext
from tenax.errors import UsageError
from tenax.model.events import timestamp
from tenax.model.metrics.figures import AttemptReturn, By, RetryGroup, RetryStats
from tenax.store import service
from tenax.store.metrics import figures as metrics

DEFAULT_SPAN = timedelta(days=1)


async def read_stats(
    context: EngineContext, *, by: By, since: datetime | None, until: datetime | None
) -> RetryStats:
    """Reads the statistics from the minute of `since` to the minute before that of `until`. Without these, reads those of the
    last day."""
    async with context.view_snapshot() as tx:
        now = await service.now(tx)
        end = until or now
        start = since or end - DEFAULT_SPAN
        if start >= end:
            raise UsageError(f"since ({timestamp(start)}) must be earlier than until ({timestamp(end)})")
        row = await metrics.sum_window(tx, 0)
        if by == "worker":
            groups = [_worker_group(one) for one in await metrics.sum_workers(tx, start, end)]
        else:
            failures = await metrics.sum_failures(tx, start, end, by)
            groups = _groups(await metrics.sum_returns(tx, start, end, by), failures)
    groups.sort(key=lambda group: (-group.retries, -group.failures, group.name))
    return RetryStats(
        since=timestamp(start), until=timestamp(end), counted_until=timestamp(row["counted_at"]), by=by, groups=groups
    )  # fmt: skip


def _groups(rows: Iterable[Any], failures: dict[str, int]) -> list[RetryGroup]:
    attempts: dict[str, list[AttemptReturn]] = {name: [] for name in failures}
    for row in rows:
        made = AttemptReturn(
            attempt=row["attempt"], retries=row["n"], succeeded=row["succeeded"], success_rate=row["succeeded"] / row["n"],
            seconds=round(row["seconds"], 3), waited=round(row["waited"], 3),
        )  # fmt: skip
        attempts.setdefault(row["name"], []).append(made)
    return [_group(name, failures.get(name, 0), own) for name, own in attempts.items()]


def _group(name: str, failures: int, own: list[AttemptReturn]) -> RetryGroup:
    retries, succeeded = sum(one.retries for one in own), sum(one.succeeded for one in own)
    return RetryGroup(
        name=name,
        failures=failures,
        retries=retries,
        succeeded=succeeded,
        success_rate=succeeded / retries if retries else None,
        seconds=round(sum(one.seconds for one in own), 3),
        waited=round(sum(one.waited for one in own), 3),
        attempts=own,
    )


def _worker_group(row: Any) -> RetryGroup:
    """Describes the retries that started on a worker."""
    rate = row["succeeded"] / row["n"] if row["n"] else None
    return RetryGroup(
        name=row["name"], failures=row["failures"], retries=row["n"], succeeded=row["succeeded"], success_rate=rate,
        seconds=round(row["seconds"], 3), waited=round(row["waited"], 3), attempts=[],
    )  # fmt: skip
