"""Is the open application of a test: what the code under test submits goes to the engine of the test."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from msgspec import to_builtins

from tenax.app.engine_client import EngineClient
from tenax.errors import UsageError
from tenax.model.wire import Submission, Submitted
from tenax.sdk.context import CURRENT
from tenax.sdk.tasks.application import Executions
from tenax.testing.core import ACTOR, Core
from tenax.testing.loop_thread import LoopThread

__tracebackhide__ = True  # pytest shows the lines of the test, and not those of this module

T = TypeVar("T")


class TesterClient(EngineClient):
    """Is a client of a test's engine. Its executions have workers, and waiting for an end lets time pass."""

    def __init__(self, core: Core, item_id: int | None) -> None:
        """`item_id` is the item whose attempt uses the client, or None for code that no worker runs."""
        super().__init__(core.engine, ACTOR)
        self._core = core
        self._item_id = item_id

    async def submit(self, submission: Submission) -> Submitted:
        [submitted] = await self.submit_many([submission])
        return submitted

    async def submit_many(self, submissions: Sequence[Submission]) -> list[Submitted]:
        submitted = await super().submit_many(submissions)
        for one in submitted:
            self._core.serve(one.id)
        return submitted

    async def wait(
        self,
        execution_id: int,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 -- as of `Client`
    ) -> dict[str, Any]:
        with self._core.faults.waiting_in(self._item_id, execution_id):
            async with asyncio.timeout(timeout):
                return dict(to_builtins(await self._core.finish(execution_id)))


class TesterApplication:
    """Submits tasks to the engine of a test (`tenax.sdk.tasks.application.Application`)."""

    def __init__(self, core: Core, loop: LoopThread) -> None:
        self._core = core
        self._loop = loop

    async def call(self, work: Callable[[Executions], Coroutine[Any, Any, T]]) -> T:
        """Runs `work` in the loop of the engine, from any event loop."""
        if self._loop.is_here():
            return await work(self._client())
        return await asyncio.to_thread(self._loop.call, work(self._client()))

    def call_sync(self, work: Callable[[Executions], Coroutine[Any, Any, T]]) -> T:
        if self._loop.is_here():
            raise UsageError(
                "this would block the event loop that has to do the work",
                remedy="use the form with await: `await task.submit(...)`, `await handle.result()`",
            )
        return self._loop.call(work(self._client()))

    def admit(self, task: str, module: str) -> None:
        """Does nothing: the workers of a test run in its process, and so know every task."""

    def _client(self) -> TesterClient:
        context = CURRENT.get(None)
        return TesterClient(self._core, None if context is None else context.item_id)
