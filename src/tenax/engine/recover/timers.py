"""Handles due times by timers instead of polling: the loop sleeps until the next thing is due, or until something
earlier is scheduled."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from datetime import datetime

import structlog

from tenax.engine.context import EngineContext
from tenax.engine.graph.fan_out import fill_slots
from tenax.engine.recover.reap import Reaper
from tenax.engine.slices import urgent
from tenax.errors import Unreachable
from tenax.store.tables import due_items
from tenax.store.tables.due_items import NextWake

LONGEST = 5.0
"""Seconds after which the database is asked again in any case."""
SHORTEST = 0.05
"""Seconds between two checks of something that has expired but may not be reaped yet."""
AWAY = 0.5
"""Seconds before the database is asked again after it could not be reached."""
REST = 8.0
"""The pause between two queries to the database, in multiples of the time that the last answer took.

Under load the query is expensive, and the work on due items finds further ones by itself.
"""
LONGEST_REST = 0.01
"""The longest pause in seconds. Something that falls due in a pause starts this much later at most.

On a busy event loop a cheap answer may take long.
"""

_log = structlog.get_logger("tenax.timers")


class Timers:
    def __init__(
        self, context: EngineContext, reaper: Reaper, start_due: Callable[[], Awaitable[int]]
    ) -> None:
        """`start_due` starts what is due by schedules and by delays."""
        self._context = context
        self._reaper = reaper
        self._start_due = start_due
        self._earlier = asyncio.Event()
        self._target = float("inf")
        self._beside: dict[str, asyncio.Task[None]] = {}
        """The work on due items that runs beside the timers, by its kind."""

    def note(self, seconds: float) -> None:
        """Notes that something is due in this many seconds. The next query finds anything that is due later."""
        if seconds < LONGEST and asyncio.get_running_loop().time() + seconds < self._target:
            self._earlier.set()

    async def run(self) -> None:
        try:
            while True:
                try:
                    await self._sleep(await self.look())
                except Unreachable:
                    await asyncio.sleep(AWAY)
        finally:
            for task in self._beside.values():
                task.cancel()
            await self._finish()

    async def tick(self) -> float:
        """Asks for what is due, and waits until the due items have been handled. Returns the seconds until something else is due."""
        seconds = await self.look()
        await self._finish()
        return seconds

    async def look(self) -> float:
        """Wakes the loops for what is due, and starts the work that no other loop does. Returns the seconds until the next query.

        The next query does not wait for the work on expired items, which may be many, because retries fall due in the meantime.
        """
        self._earlier.clear()
        self._target = float("inf")  # until the next wake-up is known, anything new may be earlier
        asked = asyncio.get_running_loop().time()
        with urgent():
            async with self._context.statements() as tx:
                wake = await due_items.next_wake(tx, self._reaper.isolated, LONGEST)
        rest = min(LONGEST_REST, REST * (asyncio.get_running_loop().time() - asked))
        self._context.notifier.wake(server_steps=wake.server_steps, messages=wake.messages)
        if wake.slots:
            self._begin("slots", lambda: fill_slots(self._context))
        over = _earliest(wake.wait, wake.deadline, _expiry(wake))
        if over is not None and over <= wake.now:
            self._begin("reap", self._reaper.reap)
            over = None
        start = wake.start
        if start is not None and start <= wake.now:
            self._begin("starts", self._start_due)
            start = None
        next_due = _earliest(wake.retry, over, start)
        if next_due is None:
            return LONGEST
        return min(LONGEST, max(rest, (next_due - wake.now).total_seconds()))

    def _begin(self, kind: str, work: Callable[[], Awaitable[int]]) -> None:
        if kind not in self._beside:
            self._beside[kind] = asyncio.create_task(self._work_off(kind, work))

    async def _work_off(self, kind: str, work: Callable[[], Awaitable[int]]) -> None:
        """Runs the work, and then makes the timers ask again, because there may be more."""
        pause = AWAY
        try:
            pause = 0.0 if await work() else SHORTEST
        except Unreachable:
            pass
        except Exception:  # noqa: BLE001 -- nobody waits for it who could be told
            _log.exception("what is due could not be dealt with", kind=kind)
        finally:
            del self._beside[kind]
            asyncio.get_running_loop().call_later(pause, self._earlier.set)

    async def _finish(self) -> None:
        await asyncio.gather(*self._beside.values(), return_exceptions=True)

    async def _sleep(self, seconds: float) -> None:
        self._target = asyncio.get_running_loop().time() + seconds
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, seconds)):
                await self._earlier.wait()


def _earliest(*times: datetime | None) -> datetime | None:
    known = [time for time in times if time is not None]
    return min(known) if known else None


def _expiry(wake: NextWake) -> datetime | None:
    """Returns when the next lease may be reaped: not before a full lease has passed since an
    interruption of service."""
    if wake.expiry is None or wake.reap_after is None:
        return wake.expiry
    return max(wake.expiry, wake.reap_after)
