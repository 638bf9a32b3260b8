"""Reads the metrics of the whole database. The longer it takes, the more rarely it is done."""

from __future__ import annotations

import asyncio
from datetime import datetime
from time import perf_counter

import msgspec

from tenax.engine.context import EngineContext
from tenax.engine.fleet.leader import Leadership
from tenax.engine.fleet.workers import list_workers
from tenax.engine.metrics.figures import alert_terms, figures_in
from tenax.engine.metrics.roll_up import RollUp
from tenax.model.fleet.views import Queue
from tenax.model.metrics.alerts import evaluate
from tenax.model.metrics.figures import Alert, Figures
from tenax.store import service
from tenax.store.fleet.queues import list_queues
from tenax.store.metrics import figures as metrics

LEAST_AGE = 0.5  # seconds for which a snapshot is used
PAUSE_FOR_COST = 50
"""A snapshot is used for this many times the seconds that it took to read. So a queue of a million items is counted rarely."""


class Snapshot(msgspec.Struct):
    totals: dict[str, dict[tuple[str, ...], float]]
    figures: Figures
    alerts: list[Alert]
    queues: list[Queue]
    ages: dict[str, float]
    """Seconds for which the oldest ready item of each queue waits."""
    lag: float


class Snapshots:
    """Gives the snapshot to all callers. Callers that come while it is read wait for it."""

    def __init__(self, context: EngineContext, leadership: Leadership, roll_up: RollUp) -> None:
        self._context = context
        self._leadership = leadership
        self._roll_up = roll_up
        self._lock = asyncio.Lock()
        self._last: Snapshot | None = None
        self._until = 0.0

    async def current(self) -> Snapshot | None:
        """Returns the snapshot if this server leads, since no other server exports metrics of the database."""
        if not self._leadership.is_sure:
            self._last = None
            return None
        async with self._lock:
            if self._last is None or perf_counter() > self._until:
                began = perf_counter()
                self._last = await self._read()
                self._until = perf_counter() + max(LEAST_AGE, PAUSE_FOR_COST * (perf_counter() - began))
            return self._last

    async def _read(self) -> Snapshot:
        live = await list_workers(self._context, gone=False)
        async with self._context.snapshot() as tx:
            totals = await metrics.read_totals(tx)
            figures = await figures_in(tx, self._context, live)
            queues = await list_queues(tx, self._context.settings.lease)
            now = await service.now(tx)
        return Snapshot(
            totals=totals,
            figures=figures,
            alerts=evaluate(figures, alert_terms(self._context)),
            queues=queues,
            ages={one.queue: _age(one.oldest_at, now) for one in queues},
            lag=self._roll_up.lag,
        )


def _age(since: str | None, now: datetime) -> float:
    return 0.0 if since is None else max((now - datetime.fromisoformat(since)).total_seconds(), 0.0)
