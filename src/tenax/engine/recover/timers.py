"""Due times are timers, not polls: the loop sleeps until the next thing falls due, or until an earlier one is made."""

from __future__ import annotations

import asyncio
import contextlib
from datetime import datetime

from tenax.engine.context import Core
from tenax.engine.graph.fan_out import feed
from tenax.engine.recover.reap import Reaper
from tenax.errors import Unreachable
from tenax.store.tables import queue
from tenax.store.tables.queue import Wake

LONGEST = 5.0
"""Seconds after which the database is asked again, whatever was known."""
SHORTEST = 0.05
"""Seconds between two looks at something that is over but may not be reaped yet."""
REST = 8.0
"""Where one thing after the other falls due, it is asked again after so many times as long as the answer took (`SHORTEST` at most):
under load the question has its price, and whoever works off what is due finds the rest by itself."""


class Timers:
    def __init__(self, core: Core, reaper: Reaper) -> None:
        self._core = core
        self._reaper = reaper
        self._earlier = asyncio.Event()
        self._target = float("inf")

    def note(self, seconds: float) -> None:
        """Something falls due in so many seconds. What is further off is found at the next look anyway."""
        if seconds < LONGEST and asyncio.get_running_loop().time() + seconds < self._target:
            self._earlier.set()

    async def run(self) -> None:
        while True:
            try:
                await self._sleep(await self.tick())
            except Unreachable:
                await asyncio.sleep(0.5)

    async def tick(self) -> float:
        """Does what is due. Returns the seconds until something else will be."""
        self._earlier.clear()
        self._target = float("inf")  # until it is known when to wake, anything new may be earlier
        asked = asyncio.get_running_loop().time()
        async with self._core.statements() as tx:
            wake = await queue.next_wake(tx, self._reaper.broken, LONGEST)
        rest = min(SHORTEST, REST * (asyncio.get_running_loop().time() - asked))
        self._core.hub.wake(server_steps=wake.server_steps, messages=wake.messages)
        if wake.places:
            await feed(self._core)
        over = _earliest(wake.wait, wake.deadline, _expiry(wake))
        if over is not None and over <= wake.now:
            return 0.0 if await self._reaper.reap() else SHORTEST
        next_due = _earliest(wake.retry, over)
        if next_due is None:
            return LONGEST
        return min(LONGEST, max(rest, (next_due - wake.now).total_seconds()))

    async def _sleep(self, seconds: float) -> None:
        self._target = asyncio.get_running_loop().time() + seconds
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, seconds)):
                await self._earlier.wait()


def _earliest(*times: datetime | None) -> datetime | None:
    known = [time for time in times if time is not None]
    return min(known) if known else None


def _expiry(wake: Wake) -> datetime | None:
    """When the next lease may be reaped: not before a full lease after an interruption of service."""
    if wake.expiry is None or wake.reap_after is None:
        return wake.expiry
    return max(wake.expiry, wake.reap_after)
