"""Reads series over time from the counts by minute. Spans that have been counted in full are read once and kept."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from tenax.engine.context import EngineContext
from tenax.engine.metrics.figures import bound_of
from tenax.errors import UsageError
from tenax.model.events import timestamp
from tenax.model.metrics.series import (
    Series,
    SeriesPoint,
    StepFigures,
    WorkerPoint,
    WorkerSeries,
    width_of,
)
from tenax.store import service
from tenax.store.connect import Connection
from tenax.store.metrics import figures as metrics
from tenax.store.metrics.figures import SeriesName

SETTLED_AFTER = 600.0  # seconds after which nothing is counted in a minute any more
MOST_DAYS = 31  # days of the longest series
KEPT_SERIES = 64  # series whose settled spans are kept
DEFAULT_SPAN = timedelta(hours=1)
Row = Mapping[str, Any]


class _Kept(NamedTuple):
    since: datetime
    until: datetime
    rows: list[Row]


class _Times(NamedTuple):
    """The span of a series, from the begin of its first point to the end of its last one."""

    since: datetime
    until: datetime
    width: int
    settled: datetime
    counted_at: datetime | None

    @property
    def points(self) -> list[datetime]:
        n = round((self.until - self.since).total_seconds() / self.width)
        return [self.since + timedelta(seconds=self.width * i) for i in range(n)]


class SeriesReader:
    def __init__(self, context: EngineContext) -> None:
        self._context = context
        self._kept: OrderedDict[tuple[object, ...], _Kept] = OrderedDict()

    async def series(
        self,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        workflow: str | None = None,
        step: str | None = None,
    ) -> Series:
        """Reads throughput, retries and their lateness, at most 240 points. Lateness and executions are not those of
        a step, and lateness not that of a workflow."""
        async with self._context.view_snapshot() as tx:
            times = await _times(tx, since, until)
            attempts = await self._spans(tx, times, SeriesName.ATTEMPTS, workflow, step)
            events = await self._spans(tx, times, SeriesName.EVENTS, workflow)
            lateness = await self._spans(tx, times, SeriesName.LATENESS)
        ended = {row["at"]: row for row in attempts}
        begun = {row["at"]: row for row in events}
        late: dict[datetime, dict[int, int]] = {}
        for row in lateness:
            late.setdefault(row["at"], {})[row["bucket"]] = row["n"]
        return Series(
            since=timestamp(times.since),
            until=timestamp(times.until),
            span_seconds=times.width,
            counted_until=timestamp(times.counted_at),
            workflow=workflow,
            step=step,
            points=[
                _point(at, ended.get(at, {}), begun.get(at, {}), late.get(at, {})) for at in times.points
            ],
        )

    async def workers(
        self, names: Sequence[str], *, since: datetime | None = None, until: datetime | None = None
    ) -> list[WorkerSeries]:
        """Reads the failure rates of workers over time, such as for sparklines."""
        async with self._context.view_snapshot() as tx:
            times = await _times(tx, since, until)
            span = (times.since, times.until, times.width)
            rows = await metrics.list_series(tx, SeriesName.WORKERS, *span, list(names))
        found = {(row["worker"], row["at"]): row for row in rows}
        return [
            WorkerSeries(
                worker=name, points=[_worker_point(at, found.get((name, at), {})) for at in times.points]
            )
            for name in names
        ]

    async def steps(
        self, workflow: str, *, since: datetime, until: datetime | None = None
    ) -> list[StepFigures]:
        """Says what the attempts of each step of a workflow came to."""
        async with self._context.view() as tx:
            end = until or await service.now(tx)
            rows = await metrics.sum_steps(tx, since, end, workflow)
        return [_step(row) for row in rows]

    async def _spans(self, tx: Connection, times: _Times, name: SeriesName, *more: str | None) -> list[Row]:
        """Returns the rows of a series. Those of settled spans are read only once."""
        key = (name, times.width, *more)
        kept = self._kept.get(key)
        if kept is None or kept.since > times.since or kept.until < times.since:
            kept = _Kept(times.since, times.since, [])
        first = min(kept.until, times.until)
        fresh = await metrics.list_series(tx, name, first, times.until, times.width, *more)
        rows = [row for row in kept.rows if times.since <= row["at"] < first] + list(fresh)
        until = max(first, min(times.settled, times.until))
        self._kept[key] = _Kept(times.since, until, [row for row in rows if row["at"] < until])
        self._kept.move_to_end(key)
        if len(self._kept) > KEPT_SERIES:
            self._kept.popitem(last=False)
        return rows


async def _times(tx: Connection, since: datetime | None, until: datetime | None) -> _Times:
    """Returns the times of a series: its spans begin at whole multiples of their width."""
    now = await service.now(tx)
    end = min(until or now, now)
    start = since or end - DEFAULT_SPAN
    if start >= end:
        raise UsageError(f"since ({timestamp(start)}) must be earlier than until ({timestamp(end)})")
    if end - start > timedelta(days=MOST_DAYS):
        raise UsageError(f"a series may have {MOST_DAYS} days", remedy="choose a later `since`")
    counted_at = await metrics.counted_at(tx)
    width = width_of((end - start).total_seconds())
    settled = (counted_at or start) - timedelta(seconds=SETTLED_AFTER)
    return _Times(
        _floor(start, width), _floor(end, width, up=True), width, _floor(settled, width), counted_at
    )


def _floor(at: datetime, width: int, *, up: bool = False) -> datetime:
    whole = int(at.timestamp()) // width * width
    over = width if up and at.timestamp() > whole else 0
    return datetime.fromtimestamp(whole + over, tz=at.tzinfo)


def _point(at: datetime, ended: Row, begun: Row, late: Mapping[int, int]) -> SeriesPoint:
    recovered, again = ended.get("recovered") or 0, ended.get("failed_again") or 0
    first, retries = begun.get("first_attempts") or 0, begun.get("retries") or 0
    return SeriesPoint(
        at=timestamp(at),
        succeeded=ended.get("succeeded") or 0,
        failed=ended.get("failed") or 0,
        lost=ended.get("lost") or 0,
        expired=ended.get("expired") or 0,
        given_up=ended.get("given_up") or 0,
        first_attempts=first,
        retries=retries,
        retry_rate=_share(retries, first),
        retries_succeeded=recovered,
        retries_failed=again,
        retry_success_rate=_share(recovered, recovered + again),
        executions_started=begun.get("started") or 0,
        executions_completed=begun.get("completed") or 0,
        executions_failed=begun.get("executions_failed") or 0,
        late_p50=bound_of(late, 0.5),
        late_p99=bound_of(late, 0.99),
    )


def _worker_point(at: datetime, row: Row) -> WorkerPoint:
    started, failed = row.get("started") or 0, row.get("failed") or 0
    rate = _share(failed, max(started, failed))
    return WorkerPoint(at=timestamp(at), started=started, failed=failed, failure_rate=rate)


def _step(row: Row) -> StepFigures:
    succeeded, failed = row["succeeded"], row["failed"]
    recovered, again = row["recovered"], row["failed_again"]
    return StepFigures(
        step=row["step"],
        attempts=succeeded + failed,
        succeeded=succeeded,
        failed=failed,
        success_rate=_share(succeeded, succeeded + failed),
        retries_succeeded=recovered,
        retries_failed=again,
        retry_success_rate=_share(recovered, recovered + again),
        given_up=row["given_up"],
        average_seconds=_share(row["seconds"], succeeded + failed),
        waited_seconds=round(row["waited"], 3),
    )


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None
