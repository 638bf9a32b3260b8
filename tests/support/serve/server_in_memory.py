"""Is a small server in memory for tests of the worker. It is the only double in the tests, and replaces nothing of the worker."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tenax.errors import Unreachable
from tenax.model.attempt.outcome import Outcome
from tenax.model.fleet.health import HealthTerms
from tenax.model.wire import (
    Assignment,
    AttemptNotes,
    AttemptNotesAnswer,
    Heartbeat,
    HeartbeatAnswer,
    Held,
    LeaseRequest,
    Registration,
    RegistrationAnswer,
    Release,
    Report,
    ReportAnswer,
)
from tenax.worker.worker import Worker

PATIENCE = 20.0


class Server:
    """Hands out the items of its queue and keeps what it is told."""

    def __init__(
        self,
        items: Sequence[dict[str, Any]] = (),
        *,
        lease: float = 30.0,
        heartbeat: float = 10.0,
        health: HealthTerms | None = None,
    ) -> None:
        self.waiting = list(items)
        self.terms = RegistrationAnswer(
            lease, heartbeat, health or HealthTerms(), max_checkpoint=1000, max_output=100_000
        )
        self.registrations: list[Registration] = []
        self.requests: list[LeaseRequest] = []
        self.given_up: list[str] = []
        """The grants of requests that waited here and were withdrawn."""
        self.batches: list[list[Report]] = []
        self.releases: list[Release] = []
        self.beats: list[Heartbeat] = []
        self.notes: list[AttemptNotes] = []
        self.stale: list[Held] = []
        """The leases whose checkpoints it does not keep."""
        self.revoked: list[Held] = []
        self.answer = HeartbeatAnswer()
        """The answer to heartbeats, apart from the revoked leases."""
        self.faults: dict[str, list[Exception]] = {}
        self.down = False
        self.refused = 0
        self.changed = asyncio.Condition()
        self.report_gate: asyncio.Event | None = None

    @property
    def outcomes(self) -> dict[int, Outcome]:
        return {report.item_id: report.outcome for batch in self.batches for report in batch}

    async def until(self, condition) -> None:
        async with asyncio.timeout(PATIENCE), self.changed:
            await self.changed.wait_for(condition)

    async def add(self, *items: dict[str, Any]) -> None:
        self.waiting += items
        await self._note()

    async def beaten(self, times: int = 2) -> None:
        """Waits for this many more heartbeats. The worker has then heard the last answer."""
        before = len(self.beats)
        await self.until(lambda: len(self.beats) >= before + times)

    async def register(self, registration: Registration) -> RegistrationAnswer:
        await self._fault("register")
        self.registrations.append(registration)
        await self._note()
        return self.terms

    async def lease(self, request: LeaseRequest) -> list[Assignment]:
        self.requests.append(request)
        await self._note()
        await self._fault("lease")
        try:
            async with self.changed:
                await self.changed.wait_for(lambda: self.waiting)
        except asyncio.CancelledError:
            self.given_up.append(request.grant)
            raise
        granted, self.waiting = self.waiting[: request.slots], self.waiting[request.slots :]
        return [assignment(token=request.grant, **item) for item in granted]

    async def report(self, reports: Sequence[Report]) -> list[ReportAnswer]:
        await self._fault("report")
        self.batches.append(list(reports))
        await self._note()
        if self.report_gate is not None:
            await self.report_gate.wait()
        return [ReportAnswer(report.item_id, "applied", "complete") for report in reports]

    async def release(self, releases: Sequence[Release]) -> None:
        await self._fault("release")
        self.releases += releases
        await self._note()

    async def heartbeat(self, heartbeat: Heartbeat) -> HeartbeatAnswer:
        await self._fault("heartbeat")
        self.beats.append(heartbeat)
        await self._note()
        return replace(self.answer, revoked=tuple(self.revoked))

    async def take_notes(self, notes: AttemptNotes) -> AttemptNotesAnswer:
        await self._fault("notes")
        self.notes.append(notes)
        await self._note()
        return AttemptNotesAnswer(tuple(self.stale))

    async def close(self) -> None: ...

    async def _fault(self, verb: str) -> None:
        if self.down:
            self.refused += 1
            await self._note()
            raise Unreachable("cannot reach the server")
        if self.faults.get(verb):
            raise self.faults[verb].pop(0)

    async def _note(self) -> None:
        async with self.changed:
            self.changed.notify_all()


def assignment(*, item: int, task: str = "", token: str, **more: Any) -> Assignment:
    spec = more.pop("spec", {"task": task})
    values: dict[str, Any] = {"runtime": "python", "timeout": 60.0, "max_attempts": 3, **more}
    return Assignment(
        1, item, 1, token, "step", values.pop("runtime"), spec, receipt="r", workflow="w", **values
    )


def work(server: Server, scenario, **options: Any) -> None:
    """Runs a worker beside a scenario, stops it when the scenario is over, and waits for its end."""

    async def go() -> None:
        stop, at_once = asyncio.Event(), asyncio.Event()
        worker = Worker(server, **{"name": "w1", "slots": 4, "drain": 20.0, "environment": {}, **options})
        running = asyncio.create_task(worker.run(stop, at_once))
        try:
            await scenario(stop, at_once, running)
        finally:
            stop.set()
            async with asyncio.timeout(PATIENCE):
                await running

    asyncio.run(go())


class Gate:
    """Holds back handlers until they are let go. Handlers record that they have come, and whether they were cancelled."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.come = asyncio.Event()
        self.cancelled = asyncio.Event()

    async def __call__(self) -> str:
        self.come.set()
        try:
            await self.open.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return "passed"
