"""Tells the server which life of a worker has ended, when a worker of `tenax up` dies."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from uuid import uuid4

from tenax.errors import TenaxError
from tenax.model.wire import EndedLife

TELL_SECONDS = 5.0  # seconds for telling the server that a worker died, before the worker starts again


class WorkerLives:
    """Gives one worker a new life (a UUID) at each start."""

    def __init__(self, worker: str) -> None:
        self._worker = worker
        self._life: str | None = None

    def begin(self) -> str:
        """Returns the life of the process that is started now."""
        self._life = str(uuid4())
        return self._life

    async def end(self, tell: Callable[[EndedLife], Awaitable[int]]) -> int:
        """Tells the server that the process has died. Returns the number of leases that it lost.

        If the server cannot be reached, the leases expire by themselves later.
        """
        if self._life is None:
            return 0
        ended, self._life = EndedLife(self._worker, self._life), None
        try:
            async with asyncio.timeout(TELL_SECONDS):
                return await tell(ended)
        except (TenaxError, TimeoutError):
            return 0
