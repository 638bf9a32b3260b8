"""Writes heartbeats of many workers together, so that an idle fleet costs next to nothing."""

from __future__ import annotations

import asyncio

from tenax.engine.context import EngineContext
from tenax.engine.fleet.workers import heartbeat, heartbeats
from tenax.engine.group_commit import GroupCommit
from tenax.model.wire import Heartbeat, HeartbeatAnswer

TURNS = 20
"""Transactions in the time between two heartbeats of a worker. Up to this number of workers, heartbeats are written at
once."""

LONGEST = 0.5
"""Seconds that a heartbeat waits for others at most. A lease may outlive its worker by this much longer."""


class Heartbeats:
    """Takes heartbeats. With many workers, heartbeats wait for each other for a moment."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context
        self._together = GroupCommit[Heartbeat, HeartbeatAnswer | None](
            lambda beats: heartbeats(context, beats)
        )
        self._recent = RecentWorkers(context.settings.heartbeat)
        self._seconds = min(LONGEST, context.settings.heartbeat / TURNS)
        self._batch_start: asyncio.Event | None = None

    async def __call__(self, beat: Heartbeat) -> HeartbeatAnswer:
        await self._wait_for_batch(beat)
        [answer] = await self._together([beat])
        return answer or await heartbeat(self._context, beat)

    async def _wait_for_batch(self, beat: Heartbeat) -> None:
        """Waits for the batch. Waiting heartbeats are written in the order in which they came. A worker that leaves
        writes them first and then its own, since one of them may be an earlier one of its own."""
        loop = asyncio.get_running_loop()
        workers = self._recent.count(beat.worker, loop.time())
        if self._batch_start is None:
            if beat.leaving or workers <= TURNS:
                return
            self._batch_start = asyncio.Event()
            loop.call_later(self._seconds, self._open, self._batch_start)
        elif beat.leaving:
            loop.call_soon(self._open, self._batch_start)
        await self._batch_start.wait()

    def _open(self, start: asyncio.Event) -> None:
        start.set()
        if self._batch_start is start:
            self._batch_start = None


class RecentWorkers:
    """Counts the workers heard within a number of seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._since = float("-inf")
        self._names: set[str] = set()
        self._before = 0

    def count(self, name: str, now: float) -> int:
        if now - self._since >= self._seconds:
            self._before = len(self._names) if now - self._since < 2 * self._seconds else 0
            self._since, self._names = now, set()
        self._names.add(name)
        return max(self._before, len(self._names))
