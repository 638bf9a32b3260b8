"""The worker's link to its server: up or down, said once for each change, with growing pauses while it is down."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable
from contextlib import suppress
from typing import TypeVar

from tenax.errors import TenaxError
from tenax.worker.handlers.json_values import storable

T = TypeVar("T")

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0

log = logging.getLogger("tenax.worker")


class LinkDown(Exception):
    """The call did not get through; try again later. Never leaves the worker."""


class Link:
    """Makes calls, and keeps the state of the link. One link for all activities of a worker."""

    def __init__(self) -> None:
        self.up = True
        self._failures = 0
        self._back = asyncio.Event()

    async def call(self, request: Awaitable[T], *, seconds: float | None = None) -> T:
        """The answer, or `LinkDown`. What only a person can put right comes out as it is."""
        try:
            if seconds is None:
                answer = await request
            else:
                async with asyncio.timeout(seconds):
                    answer = await request
        except TenaxError as error:
            if error.http_status < 500:
                raise
            raise self._went_down(str(error)) from error
        # The boundary to the server's side: whatever its faults, the worker outlives them.
        except Exception as error:
            log.debug("the call failed", exc_info=True)
            raise self._went_down(storable(f"{type(error).__name__}: {error}")) from error
        self._came_up()
        return answer

    async def pause(self) -> None:
        """Waits before the next try, or until another activity's call has got through.

        Half of it by chance, so that workers do not come back in step.
        """
        longest = min(FIRST_PAUSE * 2 ** min(self._failures, 10), LONGEST_PAUSE)
        with suppress(TimeoutError):
            async with asyncio.timeout(longest * random.uniform(0.5, 1.0)):
                await self._back.wait()

    def _went_down(self, why: str) -> LinkDown:
        self._failures += 1
        self._back.clear()
        if self.up:
            self.up = False
            log.warning("%s; will keep trying", why)
        return LinkDown(why)

    def _came_up(self) -> None:
        self._failures = 0
        if not self.up:
            self.up = True
            self._back.set()
            log.info("the server is back")
