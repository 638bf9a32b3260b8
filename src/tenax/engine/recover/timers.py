"""Handles due times by timers instead of polling: the loop sleeps until the next thing is due, or until something
earlier is scheduled."""

from __future__ import annotations

import asyncio
import contextlib
from datetime import datetime

from tenax.engine.context import EngineContext
from tenax.engine.graph.fan_out import fill_slots
from tenax.engine.recover.reap import Reaper
from tenax.errors import Unreachable
from tenax.store.tables import queue
from tenax.store.tables.queue import NextWake

LONGEST = 5.0
"""Seconds after which the database is asked again in any case."""
SHORTEST = 0.05
"""Seconds between two looks at something that has expired but may not be reaped yet."""
REST = 8.0
"""Pause between two questions to the database, in multiples of the time that the last answer took, and at most
`SHORTEST`. Under load the question is expensive, and the work on due items finds further ones by itself."""


class Timers:
    def __init__(self, context: EngineContext, reaper: Reaper) -> None:
        self._context = context
        self._reaper = reaper
        self._earlier = asyncio.Event()
        self._target = float("inf")
        context.notifier.on_due = self.note

    def note(self, seconds: float) -> None:
        """Notes that something is due in so many seconds. Anything due later is found by the next look."""
        if seconds < LONGEST and asyncio.get_running_loop().time() + seconds < self._target:
            self._earlier.set()

    async def run(self) -> None:
        while True:
            try:
                await self._sleep(await self.tick())
            except Unreachable:
                await asyncio.sleep(0.5)

    async def tick(self) -> float:
        """Handles what is due. Returns the seconds until the next thing is due."""
        self._earlier.clear()
        self._target = float("inf")  # until the next wake-up is known, anything new may be earlier
        asked = asyncio.get_running_loop().time()
        async with self._context.statements() as tx:
            wake = await queue.next_wake(tx, self._reaper.broken, LONGEST)
        rest = min(SHORTEST, REST * (asyncio.get_running_loop().time() - asked))
        self._context.notifier.wake(server_steps=wake.server_steps, messages=wake.messages)
        if wake.places:
            await fill_slots(self._context)
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


def _expiry(wake: NextWake) -> datetime | None:
    """Returns when the next lease may be reaped: not before a full lease has passed since an interruption of service."""
    if wake.expiry is None or wake.reap_after is None:
        return wake.expiry
    return max(wake.expiry, wake.reap_after)
