"""Lets time pass in a test: whenever nothing else can happen, the clock jumps to what is due next."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TypeVar

from tenax.engine.engine import Engine
from tenax.store.for_tests.fake_clock import FakeClock, Pending, find_pending
from tenax.testing.faults import Faults

__tracebackhide__ = True  # pytest shows the lines of the test, and not those of this module

T = TypeVar("T")

QUIET_SECONDS = 1.0
"""Real seconds in which nothing may happen before a test is told that nothing ever will. Loops of the server, which release
held work for example, look at their work about once a second."""


class NothingDue(Exception):
    """Nothing runs, and nothing is due."""


class Pace:
    """Moves the clock of a test."""

    def __init__(self, engine: Engine, clock: FakeClock, faults: Faults) -> None:
        self._engine = engine
        self._clock = clock
        self._faults = faults

    async def until(self, execution_id: int, reached: Callable[[], Awaitable[T | None]]) -> T:
        """Lets time pass until `reached` returns a value, and returns it. Raises `NothingDue` if that can never happen.

        `reached` is asked whenever the execution has changed, and before time passes.
        """
        notifier = self._engine.context.notifier
        async with notifier.following_all() as changed, notifier.following(execution_id) as own:
            while True:
                pending = await self._pending()
                if own.is_set() or not pending.busy:
                    own.clear()
                    if (found := await reached()) is not None:
                        return found
                if pending.due is not None and not pending.busy:
                    await self.pass_to(pending.due)
                await self._wait(changed, pending)

    async def advance_to(self, at: datetime) -> None:
        """Lets everything happen that is due by then, and sets the clock to it."""
        async with self._engine.context.notifier.following_all() as changed:
            passed = False
            while True:
                pending = await self._pending()
                if not pending.busy:
                    if passed and (pending.due is None or pending.due > at):
                        return
                    passed = pending.due is None or pending.due >= at
                    await self.pass_to(at if pending.due is None else min(pending.due, at))
                    continue
                await changed.wait()
                changed.clear()

    async def pass_to(self, at: datetime) -> None:
        lease = self._engine.context.settings.lease
        over = await self._clock.pass_to(at, running=list(self._faults.hanging), lease=lease)
        self._faults.end_hanging(over)
        self._engine.context.notifier.announce(ready=True, server_steps=True, messages=True, due_in=0.0)

    async def _pending(self) -> Pending:
        async with self._engine.context.transaction() as tx:
            return await find_pending(tx, self._faults.lost, list(self._faults.hanging))

    async def _wait(self, changed: asyncio.Event, pending: Pending) -> None:
        idle = pending.due is None and not pending.busy
        try:
            async with asyncio.timeout(QUIET_SECONDS if idle else None):
                await changed.wait()
        except TimeoutError:
            raise NothingDue from None
        changed.clear()
