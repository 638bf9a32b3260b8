"""Keeps the state of the worker's connection to its server: up or down.

Each change is logged once. While the link is down, the pauses between tries grow.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable
from contextlib import suppress
from typing import TypeVar

from tenax.errors import TenaxError
from tenax.worker.handlers.json_values import storable_text

T = TypeVar("T")

FIRST_PAUSE = 0.1  # seconds before the second try
MAX_PAUSE = 5.0  # seconds between tries, at most

log = logging.getLogger("tenax.worker")


class LinkDown(Exception):
    """The call did not get through, and should be tried again later. The worker handles every one of these itself."""


class Link:
    """Makes calls and keeps the state of the link. All activities of a worker share one link."""

    def __init__(self) -> None:
        self.up = True
        self._failures = 0
        self._came_back = asyncio.Event()

    async def call(self, request: Awaitable[T], *, seconds: float | None = None) -> T:
        """Returns the answer, or raises `LinkDown`. Errors that only a person can correct are raised unchanged."""
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
        except Exception as error:  # the boundary to the server: no fault of the server may end the worker
            log.debug("the call failed", exc_info=True)
            raise self._went_down(storable_text(f"{type(error).__name__}: {error}")) from error
        self._came_up()
        return answer

    async def pause(self) -> None:
        """Waits before the next try, or until the call of another activity gets through.

        Half of the pause is random, so that workers do not come back all at once.
        """
        longest = min(FIRST_PAUSE * 2 ** min(self._failures, 10), MAX_PAUSE)
        with suppress(TimeoutError):
            async with asyncio.timeout(longest * random.uniform(0.5, 1.0)):
                await self._came_back.wait()

    def _went_down(self, why: str) -> LinkDown:
        self._failures += 1
        self._came_back.clear()
        if self.up:
            self.up = False
            log.warning("%s; will keep trying", why)
        return LinkDown(why)

    def _came_up(self) -> None:
        self._failures = 0
        if not self.up:
            self.up = True
            self._came_back.set()
            log.info("the server is back")
