"""Gives what an engine measures: the counts of the log, and the figures, alerts and statistics made of them."""

from __future__ import annotations

from datetime import datetime

from tenax.engine.context import EngineContext
from tenax.engine.fleet.leader import Leadership
from tenax.engine.metrics.counting import Counting
from tenax.engine.metrics.figures import read_alerts, read_overview
from tenax.engine.metrics.series import SeriesReader
from tenax.engine.metrics.snapshot import Snapshots
from tenax.engine.metrics.stats import read_stats
from tenax.model.metrics.figures import Alerts, By, Overview, RetryStats


class Metrics:
    def __init__(self, context: EngineContext, leadership: Leadership) -> None:
        self._context = context
        self.counting = Counting(context, leadership)
        self.over_time = SeriesReader(context)
        self.snapshots = Snapshots(context, leadership, self.counting.roll_up)

    async def alerts(self) -> Alerts:
        return await read_alerts(self._context)

    async def overview(self) -> Overview:
        return await read_overview(self._context)

    async def stats(
        self, *, by: By = "reason", since: datetime | None = None, until: datetime | None = None
    ) -> RetryStats:
        """Returns how often retries succeeded and the time that they cost, by the failure that was retried."""
        return await read_stats(self._context, by=by, since=since, until=until)
