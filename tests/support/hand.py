"""Drives an engine by hand. Nothing happens between two lines of a test, and time passes only when the test says so."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec import to_builtins

from tenax.engine.engine import Engine
from tenax.engine.graph.fan_out import fill_slots
from tenax.engine.operate.operator_action import ActionRequest
from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.definition.types import RUNTIMES
from tenax.model.views import ActionAnswer
from tenax.model.wire import (
    PROTOCOL,
    Assignment,
    Heartbeat,
    Held,
    LeaseRequest,
    Registration,
    Release,
    Report,
    ReportAnswer,
    Submission,
)
from tenax.settings import Settings
from tenax.store.connect import Database
from tenax.store.for_tests.fake_clock import FakeClock
from tenax.store.transaction import transaction

one_postgres = pytest.mark.one_postgres
"""Marks long tests, or groups of similar tests. They run on one PostgreSQL only, even if others run on both."""
ONE_STEP = """
name: one
workflow:
  - step: only
    type: python
    task: some:task
    retry: {max_attempts: 3, initial_delay: 1, backoff_multiplier: 2, jitter: 0}
"""
ASYNC = """
name: jobs
workflow:
  - step: job
    type: http
    url: http://callee.test/jobs
    async: {deadline: 1h}
    retry: {max_attempts: 3, initial_delay: 10s, backoff: fixed, jitter: 0}
"""
STARTED = ["execution_started", "step_enqueued", "action_started"]
STEP_DONE = ["action_completed", "step_completed"]
EXHAUSTED = ["step_retry_exhausted", "step_failed_terminal", "execution_failed"]
CALLED_BACK = Outcome("succeeded", {"pages": 3})
CANCELLED = ["operator_action", "item_cancelled", "execution_cancelled"]


class Hand:
    """Submits, leases and reports, with one deliberate call at a time."""

    def __init__(self, engine: Engine, clock: FakeClock, lives: dict[str, str | None] | None = None) -> None:
        self.engine = engine
        self.clock = clock
        self._lives: dict[str, str | None] = {} if lives is None else lives
        """The last registered life of each worker. Its heartbeats name it, unless the test names another life."""

    async def submit(self, source: str = ONE_STEP, **more: Any) -> int:
        [submitted] = await self.engine.submit([Submission(source=source, **more)])
        return submitted.id

    async def start(
        self, source: str = ONE_STEP, *, worker: str = "w1", **more: Any
    ) -> tuple[int, Assignment]:
        """Submits a workflow and leases its first step, which must be the only ready item."""
        return await self.submit(source, **more), await self.lease_one(worker)

    async def lease(
        self, worker: str = "w1", slots: int = 10, *, runtimes: tuple[str, ...] = RUNTIMES, **more: Any
    ) -> list[Assignment]:
        more = {"life": self._lives.get(worker), **more}
        request = LeaseRequest(worker, str(uuid.uuid4()), slots, runtimes, **more)
        return await self.engine.dispatcher.lease_now(request)

    async def lease_one(self, worker: str = "w1", **more: Any) -> Assignment:
        [assignment] = await self.lease(worker, **more)
        return assignment

    async def report(self, assignment: Assignment, outcome: Outcome) -> Any:
        a = assignment
        [answer] = await self.engine.report(
            [Report(a.execution_id, a.item_id, a.attempt, a.token, outcome, a.step, a.item)]
        )
        return answer

    async def succeed(self, assignment: Assignment, result: Any = None) -> Any:
        return await self.report(assignment, Outcome("succeeded", result))

    async def fail(self, assignment: Assignment, **facts: Any) -> Any:
        facts = facts or {"status_code": 503, "message": "503 Service Unavailable"}
        return await self.report(assignment, Outcome("failed", facts=Facts(**facts)))

    async def accepted(self, source: str = ASYNC) -> Assignment:
        """Submits a workflow, leases its first step, and lets the callee accept it."""
        _, a = await self.start(source)
        assert (await self.report(a, Outcome("accepted", {"status_code": 202}))).status == "applied"
        return a

    async def call_back(
        self, a: Assignment, outcome: Outcome = CALLED_BACK, *, attempt: int | None = None
    ) -> ReportAnswer:
        number = a.attempt if attempt is None else attempt
        return await self.engine.callback(
            a.execution_id, a.item_id, number, a.receipt, outcome, step=a.step, item=a.item
        )

    async def act(self, execution_id: int, action: str, **more: Any) -> ActionAnswer:
        """Carries out an operator's action."""
        asked = ActionRequest(action, **{"has_result": "result" in more, **more})
        return await self.engine.act(execution_id, asked, actor="ann")

    async def retry(self, execution_id: int, **more: Any) -> ActionAnswer:
        return await self.act(execution_id, "retry", **more)

    async def hand_back(
        self, *assignments: Assignment, reason: str = "draining", detail: str | None = None
    ) -> None:
        """Releases leases before their attempts have ended."""
        await self.engine.release(
            [Release(a.execution_id, a.item_id, a.attempt, a.token, reason, detail) for a in assignments]
        )

    async def register(
        self, worker: str = "w1", *, runtimes: tuple[str, ...] = RUNTIMES, **more: Any
    ) -> None:
        self._lives[worker] = more.get("life")
        await self.engine.register(Registration(worker, runtimes, protocol=PROTOCOL, **more))

    async def beat(self, *assignments: Assignment, worker: str = "w1", **more: Any) -> Any:
        held = tuple(Held(a.item_id, a.token) for a in assignments)
        return await self.engine.heartbeat(
            Heartbeat(worker, held, **{"life": self._lives.get(worker), **more})
        )

    async def look(self) -> None:
        """Does what the server does every second: reads the state of the workers, and judges them."""
        await self.engine.look_after_fleet()

    async def settle_down(self) -> None:
        """Does what the server's own loops would do now: starts its steps, delivers messages, gives out slots, and reaps."""
        engine = self.engine
        await engine.dispatcher.finish_answers()
        while (
            await engine.server_steps.start()
            + await engine.inbox_delivery.deliver()
            + await fill_slots(engine.context)
            + await engine.reap()
            + await engine.budget_keeper.keep()
        ):
            pass

    async def pass_time(self, seconds: float) -> None:
        """Lets time pass while a server is alive."""
        while seconds > 0:
            await self.clock.advance(min(seconds, 10))
            await self.engine.beat()
            seconds -= 10

    async def wait(self, seconds: float) -> None:
        """Lets time pass while a server is alive, and handles what is due at its end."""
        await self.pass_time(seconds)
        await self.settle_down()

    async def finish_background_work(self) -> None:
        """Waits until the server has reported and released what it does beside the claims."""
        while tasks := self.engine.dispatcher._background.tasks:
            await next(iter(tasks))

    async def restarted(self, **settings: Any) -> Hand:
        """Starts the next server on the same database. It knows only what the database has."""
        context = self.engine.context
        engine = Engine(context.database, context.settings.model_copy(update=settings), roll=context.roll)
        await engine.prepare()
        return Hand(engine, self.clock, self._lives)

    async def get(self, execution_id: int) -> dict[str, Any]:
        """Returns an execution as the API gives it, like the next two."""
        return dict(to_builtins(await self.engine.get(execution_id)))

    async def events(self, execution_id: int, **more: Any) -> list[dict[str, Any]]:
        return list(to_builtins(await self.engine.events(execution_id, **more)))

    async def news(self, execution_id: int, **more: Any) -> dict[str, Any]:
        return dict(to_builtins(await self.engine.news(execution_id, **more)))

    async def types(self, execution_id: int) -> list[str]:
        return [e.type for e in await self.engine.events(execution_id)]

    async def counts(self, execution_id: int, *types: str) -> tuple[int, ...]:
        """Returns how many events there are of each of these types."""
        found = await self.types(execution_id)
        return tuple(found.count(type_) for type_ in types)

    async def events_of(self, execution_id: int, type_: str) -> list[dict[str, Any]]:
        return [e for e in await self.events(execution_id) if e["type"] == type_]

    async def data_of(self, execution_id: int, type_: str) -> list[dict[str, Any]]:
        return [e["data"] for e in await self.events_of(execution_id, type_)]

    async def status(self, execution_id: int) -> str:
        return (await self.engine.get(execution_id)).status

    async def sql(self, statement: str, *arguments: Any) -> Any:
        async with transaction(self.engine.context.database) as tx:
            return await tx.fetch(statement, *arguments)


@asynccontextmanager
async def hand_on(
    url: str, home: Path, *, at: datetime | None = None, **settings: Any
) -> AsyncIterator[Hand]:
    """Opens an engine at this time, or now."""
    chosen = Settings(home=home, database_url=url, **settings)
    async with Database.open(chosen) as database:
        clock = FakeClock(database)
        await clock.install()
        if at is not None:
            async with transaction(database) as tx:
                await tx.execute("update tenax.fake_clock set at = $1", at)
        engine = Engine(database, chosen, roll=lambda: 0.5)
        try:
            await engine.prepare()
            yield Hand(engine, clock)
        finally:
            engine.server_steps.close()
            engine.context.reading.reader_processes.close()
