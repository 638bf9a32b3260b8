"""Runs work that goes on after a claim: answers that take long, releases, and claims for single executions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import structlog

from tenax.errors import Unreachable

_log = structlog.get_logger("tenax.lease")


class BackgroundWork:
    """Holds tasks for which nobody waits, until the server ends."""

    def __init__(self) -> None:
        self.tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Awaitable[Any]) -> None:
        task = asyncio.create_task(_run(work))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def finish(self) -> None:
        """Waits until all work is done, including work that begins in the meantime."""
        await asyncio.sleep(0)  # the last answer is made in this iteration of the loop
        while self.tasks:
            await asyncio.wait(self.tasks)

    async def end(self, seconds: float) -> None:
        """Waits for this many seconds until all work is done, and then cancels the rest."""
        try:
            async with asyncio.timeout(seconds):
                await self.finish()
        except TimeoutError:
            hanging = tuple(self.tasks)
            for task in hanging:
                task.cancel()
            await asyncio.wait(hanging)


async def _run(work: Awaitable[Any]) -> None:
    # A lease that cannot be reported now will expire, and is decided on then.
    try:
        await work
    except Unreachable:
        pass
    except Exception:  # noqa: BLE001 -- nobody waits for it who could be told
        _log.exception("an answer to a worker failed")
