"""What `tenax up` tells the server when a worker of its own dies: which life has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from uuid import uuid4

from tenax.errors import TenaxError
from tenax.model.wire import EndedLife

TELL_SECONDS = 5.0  # for telling the server; the worker starts again after that at the latest


class WorkerLives:
    """The lives that a supervisor gives to one worker, one for each start."""

    def __init__(self, worker: str) -> None:
        self._worker = worker
        self._life: str | None = None

    def begin(self) -> str:
        """Returns the life of the process that is started now."""
        self._life = str(uuid4())
        return self._life

    async def end(self, tell: Callable[[EndedLife], Awaitable[int]]) -> int:
        """Tells the server that the process has died. Returns how many leases were lost with it.

        Where the server cannot be told, nothing is lost but time: the leases run out by themselves.
        """
        if self._life is None:
            return 0
        ended, self._life = EndedLife(self._worker, self._life), None
        try:
            async with asyncio.timeout(TELL_SECONDS):
                return await tell(ended)
        except (TenaxError, TimeoutError):
            return 0
