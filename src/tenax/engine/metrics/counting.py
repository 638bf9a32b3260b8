"""Keeps the roll-ups up to date while this server leads."""

from __future__ import annotations

import asyncio
from time import perf_counter

import structlog

from tenax.engine.context import EngineContext
from tenax.engine.fleet.leader import Leadership
from tenax.engine.metrics.roll_up import LEAST_PAUSE, RollUp
from tenax.errors import SchemaOutdated, Unreachable

PRUNE_PAUSE = 60.0  # seconds between two deletions of old minutes
_log = structlog.get_logger("tenax.metrics")


class Counting:
    def __init__(self, context: EngineContext, leadership: Leadership) -> None:
        self.roll_up = RollUp(context)
        self._leadership = leadership
        self._pruned_at = perf_counter()

    async def run(self) -> None:
        """Counts for ever. It survives outages of PostgreSQL, which `maintenance` reports."""
        pause = LEAST_PAUSE
        while True:
            await asyncio.sleep(pause)
            pause = LEAST_PAUSE
            if not self._leadership.leads:
                continue
            began = perf_counter()
            try:
                done = await self.roll_up.round()
                await self._prune_at_times()
            except (SchemaOutdated, Unreachable):
                continue
            pause = self.roll_up.pause_after(perf_counter() - began, done=done)

    async def _prune_at_times(self) -> None:
        if perf_counter() - self._pruned_at > PRUNE_PAUSE:
            self._pruned_at = perf_counter()
            await self.roll_up.prune()
