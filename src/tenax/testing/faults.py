"""Carries out what a test injects, in a real worker: between it and the server, and around its executors."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from tenax.embed import LocalTransport
from tenax.engine.engine import Engine
from tenax.model.attempt.outcome import Outcome
from tenax.model.wire import Assignment, LeaseRequest, Report
from tenax.sdk.context import TaskContext
from tenax.testing.injections import Effect, GiveOutcome, Injections, LoseWorker, TimeOut
from tenax.worker.executors import Executor
from tenax.worker.handlers.error_outcomes import timeout_failure


class Faults:
    """Holds the attempts of a test that something was injected at."""

    def __init__(self, engine: Engine) -> None:
        self.injections = Injections()
        self.lost: set[str] = set()
        """Tokens of leases that nobody reports."""
        self.hanging: dict[str, asyncio.Event] = {}
        """Tokens of attempts that run until their timeout. The event is set when it is over."""
        self._effects: dict[str, Effect] = {}
        self._unheard: set[str] = set()
        """Tokens of attempts whose report will be lost."""
        self._engine = engine

    def begin(self, assignment: Assignment) -> bool:
        """Chooses what happens to a leased attempt. Returns False if its worker is lost before the work begins."""
        effect = self.injections.choose(assignment)
        if isinstance(effect, LoseWorker):
            if not effect.after_work:
                self.lose(assignment.token)
                return False
            self._unheard.add(assignment.token)
        elif effect is not None:
            self._effects[assignment.token] = effect
        return True

    def take_effect(self, assignment: Assignment) -> Effect | None:
        return self._effects.pop(assignment.token, None)

    def is_heard(self, report: Report) -> bool:
        """Returns whether the report arrives. The lease of one that does not is lost from now on."""
        if report.token not in self._unheard:
            return True
        self._unheard.discard(report.token)
        self.lose(report.token)
        return False

    def lose(self, token: str) -> None:
        self.lost.add(token)
        self._tell()

    async def hang(self, assignment: Assignment) -> None:
        """Waits until the clock of the test has passed the timeout of the attempt."""
        over = self.hanging[assignment.token] = asyncio.Event()
        self._tell()
        try:
            await over.wait()
        finally:
            self.hanging.pop(assignment.token, None)

    def end_hanging(self, tokens: Iterable[str]) -> None:
        """Ends attempts whose timeout is over. They count as running until their reports have arrived."""
        for token in tokens:
            if (over := self.hanging.pop(token, None)) is not None:
                over.set()

    def _tell(self) -> None:
        """Wakes the test, which moves the clock if nothing else goes on."""
        self._engine.context.notifier.announce(ready=True)


class FaultyTransport(LocalTransport):
    """Connects a worker to the engine of a test, and loses the messages that the test says."""

    def __init__(self, engine: Engine, faults: Faults) -> None:
        super().__init__(engine)
        self._faults = faults

    async def lease(self, request: LeaseRequest) -> Sequence[Assignment]:
        return [one for one in await super().lease(request) if self._faults.begin(one)]

    async def report(self, reports: Sequence[Report]) -> None:
        heard = [report for report in reports if self._faults.is_heard(report)]
        if heard:
            await super().report(heard)


class FaultyExecutor:
    """Runs attempts as another executor does, except for those that a test injects something at."""

    def __init__(self, inner: Executor, faults: Faults) -> None:
        self._inner = inner
        self._faults = faults

    async def run(self, assignment: Assignment, context: TaskContext) -> Outcome:
        match self._faults.take_effect(assignment):
            case GiveOutcome(outcome, after_work):
                if after_work:
                    await self._inner.run(assignment, context)
                return outcome
            case TimeOut():
                await self._faults.hang(assignment)
                return timeout_failure(assignment.timeout)
            case _:
                return await self._inner.run(assignment, context)

    async def close(self) -> None:
        await self._inner.close()
