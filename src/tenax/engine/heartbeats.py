"""Heartbeats of many workers go to the database together: a fleet that waits for work costs next to nothing."""

from __future__ import annotations

import asyncio

from tenax.engine.batching import GroupCommit
from tenax.engine.core import Core
from tenax.engine.workers import heartbeats
from tenax.model.wire import Heartbeat, HeartbeatAnswer

TURNS = 20
"""Transactions for heartbeats in the time between two of one worker."""
AT_ONCE = 10
"""So many may follow each other without a pause."""


class Heartbeats:
    """Where there are few they go on at once; where there are many, they wait for each other a moment."""

    def __init__(self, core: Core) -> None:
        self._together = GroupCommit[Heartbeat, HeartbeatAnswer](lambda beats: heartbeats(core, beats))
        self._pace = Pace(core.settings.heartbeat / TURNS)

    async def __call__(self, beat: Heartbeat) -> HeartbeatAnswer:
        await self._pace.turn(hurried=beat.leaving)
        [answer] = await self._together([beat])
        return answer


class Pace:
    """Lets callers pass at once, up to `AT_ONCE` in a row, then all that have come together every so many seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._paid_until = float("-inf")
        self._opening: asyncio.Event | None = None

    async def turn(self, *, hurried: bool = False) -> None:
        """Those who wait pass in the order in which they came. One who is in a hurry takes them along."""
        loop = asyncio.get_running_loop()
        if self._opening is None:
            self._paid_until = max(self._paid_until, loop.time()) + self._seconds
            early = self._paid_until - AT_ONCE * self._seconds - loop.time()
            if hurried or early <= 0:
                return
            self._opening = asyncio.Event()
            loop.call_later(early, self._open, self._opening)
        elif hurried:
            loop.call_soon(self._open, self._opening)
        await self._opening.wait()

    def _open(self, opening: asyncio.Event) -> None:
        opening.set()
        if self._opening is opening:
            self._opening = None
