"""Runs executions for a test: the engine, one worker for each execution, and the clock. Everything here runs in the loop thread."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar

from msgspec import to_builtins

from tenax.engine.engine import Engine
from tenax.errors import Conflict
from tenax.model.execution_views import Execution
from tenax.model.wire import Submission
from tenax.settings import Settings
from tenax.settings.agents import agent_defaults
from tenax.store.connect import Database
from tenax.store.for_tests.fake_clock import FakeClock
from tenax.testing.failure_texts import story
from tenax.testing.faults import Faults, FaultyExecutor, FaultyTransport
from tenax.testing.pace import NothingDue, Pace
from tenax.worker.waiting import cancel_and_wait
from tenax.worker.worker import Worker

__tracebackhide__ = True  # pytest shows the lines of the test, and not those of this module

T = TypeVar("T")

FINISHED = ("completed", "failed", "cancelled")
ACTOR = "test"
"""The actor of signals and approvals."""
_PATIENCE = 3600.0
"""Seconds by which the loop thread may be late before a worker asks for no more work. Tests may hold the interpreter for long."""


class DidNotEnd(AssertionError):
    """An execution cannot end, or did not in the real time that the test gives it."""


class Core:
    """Is one test's engine with its workers."""

    def __init__(self, engine: Engine, clock: FakeClock, settings: Settings) -> None:
        self.engine = engine
        self.clock = clock
        self.faults = Faults(engine)
        self.pace = Pace(engine, clock, self.faults)
        self.seconds = 30.0
        """Real seconds that an execution may take."""
        self._settings = settings
        self._workers: dict[int, asyncio.Task[None]] = {}

    async def start(self, submission: Submission) -> Execution:
        """Starts an execution and a worker for it. The clock stands still."""
        [submitted] = await self.engine.submit([submission])
        self._serve(submitted.id)
        return await self.engine.get(submitted.id)

    async def run(self, submission: Submission) -> Execution:
        [submitted] = await self.engine.submit([submission])
        return await self.finish(submitted.id)

    async def finish(self, execution_id: int) -> Execution:
        """Lets time pass until an execution has ended."""
        self._serve(execution_id)
        return await self._until(
            execution_id, lambda execution: execution.status in FINISHED, "has not ended"
        )

    async def until_waiting(self, execution_id: int, step: str, item: int | None) -> Execution:
        """Lets time pass until a step waits for a signal or an approval."""
        self._serve(execution_id)

        async def waits(execution: Execution) -> bool:
            if item is not None:
                works = await self.engine.item_works(execution_id, step, [item])
                return item in works and works[item].waiting is not None
            return step in execution.steps and execution.steps[step].waiting is not None

        where = step if item is None else f"{step}[{item}]"
        return await self._until(execution_id, waits, f"does not wait in {where}")

    async def advance(self, seconds: float) -> datetime:
        """Moves the clock. Everything that falls due on the way happens."""
        for summary in await self.engine.list(states=["running", "paused"], top=True, limit=500):
            self._serve(summary.id)
        at = await self.clock.now() + timedelta(seconds=seconds)
        try:
            async with asyncio.timeout(self.seconds):
                await self.pace.advance_to(at)
        except TimeoutError:
            running = await self.engine.list(states=["running"], top=True, limit=1)
            message = f"the clock did not reach its time after {self.seconds:g} s of real time (tenax.timeout): something runs on"
            raise DidNotEnd(await self._why_not(running[0].id, message) if running else message) from None
        return await self.clock.now()

    async def signal(self, execution_id: int, name: str, data: Any) -> None:
        await self.engine.signal(execution_id, name, data=data, actor=ACTOR)

    async def decide(
        self, execution_id: int, step: str, item: int | None, reason: str | None, *, approved: bool
    ) -> None:
        """Waits until the step asks for an approval, and gives or refuses it."""
        execution = await self.until_waiting(execution_id, step, item)
        if execution.status in FINISHED:
            raise Conflict(f"execution {execution_id} has ended before {step} asked for an approval")
        await self.engine.decide_approval(
            execution_id, step, approved=approved, item=item, actor=ACTOR, reason=reason
        )

    async def executions(self) -> Sequence[Execution]:
        """Returns the executions of the test, without children, the oldest first."""
        found = await self.engine.list(top=True, limit=500)
        return [await self.engine.get(one.id) for one in reversed(found)]

    async def close(self) -> None:
        """Ends the workers without a word to the server, whose database is emptied next."""
        await cancel_and_wait(*self._workers.values())

    async def _until(
        self, execution_id: int, wanted: Callable[[Execution], bool | Awaitable[bool]], missing: str
    ) -> Execution:
        async def reached() -> Execution | None:
            self._raise_fault_of_worker(execution_id)
            execution = await self.engine.get(execution_id)
            answer = wanted(execution)
            found = answer if isinstance(answer, bool) else await answer
            return execution if found or execution.status in FINISHED else None

        try:
            async with asyncio.timeout(self.seconds):
                return await self.pace.until(execution_id, reached)
        except TimeoutError:
            why = f"after {self.seconds:g} s of real time (tenax.timeout)"
        except NothingDue:
            why = "and nothing runs or is due that could change it"
        raise DidNotEnd(await self._why_not(execution_id, f"execution {execution_id} {missing}, {why}"))

    async def _why_not(self, execution_id: int, message: str) -> str:
        execution = await self.engine.get(execution_id)
        diagnosis = await self.engine.diagnose_view(execution)
        decisions = await self.engine.explain(execution_id)
        words = " ".join(part for part in (diagnosis.sentence, diagnosis.next) if part)
        return f"{message}\n{words}\n\n{story(to_builtins(execution), decisions)}"

    def _serve(self, execution_id: int) -> None:
        """Starts a worker for an execution and its children, whatever queues and labels they ask for."""
        if execution_id in self._workers:
            return
        settings = self._settings
        worker = Worker(
            FaultyTransport(self.engine, self.faults),
            name=f"test-{execution_id}",
            execution_id=execution_id,
            overload_lag=_PATIENCE,
            http_addresses=settings.http_addresses,
            max_result=settings.max_result,
            packs=settings.home / "packs",
            pack_cache=settings.pack_cache,
            agents=agent_defaults(settings),
            drain=0.0,
            wrap_executor=partial(FaultyExecutor, faults=self.faults),
        )
        self._workers[execution_id] = asyncio.create_task(worker.run(asyncio.Event()))

    def _raise_fault_of_worker(self, execution_id: int) -> None:
        worker = self._workers[execution_id]
        if worker.done():
            worker.result()
            raise DidNotEnd(f"the worker of execution {execution_id} has ended")


@contextlib.asynccontextmanager
async def open_core(database: Database, settings: Settings, roll: Callable[[], float]) -> AsyncIterator[Core]:
    """Opens an engine on an empty database, whose clock then stands still."""
    clock = FakeClock(database)
    await clock.install()
    async with Engine(database, settings, roll=roll).running() as engine:
        core = Core(engine, clock, settings)
        try:
            yield core
        finally:
            await core.close()
