"""Finds workers that have fallen silent.

The request of a stopped or disconnected worker may still wait here. An item given to it would be lost, and cost an attempt.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from tenax.engine.context import EngineContext
from tenax.store.fleet.workers import find_silent_workers


class HeardWorkers:
    def __init__(self, context: EngineContext, on_return: Callable[[], None]) -> None:
        self._context = context
        self._on_return = on_return
        self._heard: dict[str, float] = {}
        self._silent: frozenset[str] = frozenset()

    @property
    def silence_limit(self) -> float:
        """Returns the seconds after which a worker counts as silent: later than its next heartbeat, and before its lease expires."""
        return (self._context.settings.heartbeat + self._context.settings.lease) / 2

    def heard(self, worker: str) -> None:
        self._heard[worker] = asyncio.get_running_loop().time()
        if worker in self._silent:
            self._silent -= {worker}
            self._on_return()

    def is_here(self, worker: str) -> bool:
        """Returns whether this server has heard the worker recently. The database need not be asked then."""
        since = asyncio.get_running_loop().time() - self.silence_limit
        return self._heard.get(worker, since) > since

    async def silent(self, workers: Iterable[str]) -> frozenset[str]:
        """Returns the silent workers. The database is asked about workers not heard here: their heartbeats may go to
        another server."""
        unheard = [worker for worker in set(workers) if not self.is_here(worker)]
        self._silent = frozenset()
        if unheard:
            async with self._context.transaction() as tx:
                self._silent = frozenset(await find_silent_workers(tx, unheard, self.silence_limit))
            if len(self._heard) > 10 * len(unheard) + 1000:
                self._heard = {worker: at for worker, at in self._heard.items() if self.is_here(worker)}
        return self._silent
