"""The worker: leases as much as it has free slots for, runs it, reports what it came to. It decides nothing.

Three activities run side by side and never wait for each other: leasing, reporting (`outbox`) and heartbeats; beside
them one asyncio task for each attempt.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Mapping, Sequence
from typing import Literal
from uuid import uuid4

from tenax.model.outcome import Outcome
from tenax.model.wire import (
    Assignment,
    Heartbeat,
    Held,
    LeaseRequest,
    Registration,
    RegistrationAnswer,
    Release,
    Report,
)
from tenax.sdk.context import TaskContext
from tenax.worker.executors import Executor
from tenax.worker.executors.runtimes import RUNTIMES, Executors
from tenax.worker.failures import outcome_of, refused, within_limits
from tenax.worker.link import Link, LinkDown
from tenax.worker.outbox import Outbox
from tenax.worker.registry import NoHandler
from tenax.worker.secrets import SecretMissing, Secrets
from tenax.worker.transport import Transport

FLUSH_SECONDS = 10.0
"""How long a worker that stops goes on trying to tell the server what it has finished."""
CANCEL_SECONDS = 5.0
"""How long a cancelled attempt may take to end (a process group gets its grace within it)."""
BACKLOG = 4
"""No more is leased while this many times the slots are finished and unreported."""

log = logging.getLogger("tenax.worker")


class Attempt:
    """An attempt that is running here."""

    __slots__ = ("assignment", "context", "task", "verdict")

    def __init__(self, assignment: Assignment) -> None:
        self.assignment = assignment
        self.context = TaskContext(assignment, started=time.time())
        self.task: asyncio.Task[None] | None = None
        self.verdict: Outcome | Release | None = None
        """What is told to the server in the place of the outcome, once the worker itself has ended the attempt."""

    def end(self, verdict: Outcome | Release) -> None:
        if self.verdict is None and self.task is not None:
            self.verdict = verdict
            self.context.revoke()
            self.task.cancel()


class Worker:
    """Leases and runs work items until it is told to stop."""

    def __init__(
        self,
        transport: Transport,
        *,
        name: str,
        runtimes: Sequence[str] = RUNTIMES,
        queues: Sequence[str] = ("default",),
        labels: Mapping[str, str] | None = None,
        slots: int = 10,
        drain: float = 30.0,
        execution_id: int | None = None,
        version: str | None = None,
        wait: float = 20.0,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._transport = transport
        self._registration = Registration(
            name, tuple(runtimes), tuple(queues), dict(labels or {}), slots, version
        )
        self._execution_id = execution_id
        self._slots = slots
        self._drain = drain
        self._wait = wait
        self._secrets = Secrets(environment)
        self._executors = Executors(on_slot_freed=self._free_a_slot)
        self._link = Link()
        self._outbox = Outbox(transport, self._link, self._free_a_slot)
        self._running: dict[tuple[int, str], Attempt] = {}
        self._slot_free = asyncio.Event()
        self._idle = asyncio.Event()
        self._lost_grants: set[str] = set()
        self._terms = RegistrationAnswer(lease=30.0, heartbeat=10.0)

    async def run(self, stop: asyncio.Event, at_once: asyncio.Event | None = None) -> None:
        """Works until `stop` is set, then drains; `at_once` cuts the draining short.

        Raises where only a person can help: a refused token, a wrong URL. The transport is left open.
        """
        activities: list[asyncio.Task[None]] = []
        try:
            if not await self._until(stop, self._register()):
                return
            leasing = asyncio.create_task(self._lease_forever(), name="tenax-leasing")
            others = (self._outbox.run(), self._beat_forever())
            activities += [leasing, *(asyncio.create_task(activity) for activity in others)]
            await self._until(stop, *activities)
            await _cancelled(leasing)
            await self._drain_attempts(at_once or asyncio.Event(), activities[1:])
        finally:
            for attempt in list(self._running.values()):
                attempt.end(self._handed_back(attempt))
            await self._attempts_ended()
            await _cancelled(*activities)
            await self._executors.close()

    # Leasing

    async def _register(self) -> None:
        while True:
            try:
                self._terms = await self._link.call(self._transport.register(self._registration))
            except LinkDown:
                await self._link.pause()
            else:
                return

    async def _lease_forever(self) -> None:
        while True:
            while (free := self._free_slots()) <= 0:
                self._slot_free.clear()
                await self._slot_free.wait()
            try:
                await self._lease(free)
            except LinkDown:
                await self._link.pause()

    async def _lease(self, free: int) -> None:
        grant, lost = str(uuid4()), tuple(self._lost_grants)
        who = self._registration
        request = LeaseRequest(
            who.worker,
            grant,
            free,
            who.runtimes,
            who.queues,
            who.labels,
            self._execution_id,
            self._wait,
            lost,
        )
        try:
            assignments = await self._link.call(self._transport.lease(request))
        except BaseException:
            # However it ended: the server may have granted something that nobody here has seen.
            self._lost_grants.add(grant)
            raise
        self._lost_grants.difference_update(lost)
        for assignment in assignments:
            attempt = Attempt(assignment)
            self._running[assignment.item_id, assignment.token] = attempt
            attempt.task = asyncio.create_task(self._run(attempt))

    def _free_slots(self) -> int:
        if len(self._outbox) > BACKLOG * self._slots:
            return 0
        return self._slots - len(self._running) - self._executors.overdue

    def _free_a_slot(self) -> None:
        self._slot_free.set()

    # Running

    async def _run(self, attempt: Attempt) -> None:
        assignment = attempt.assignment
        told: Outcome | Release
        try:
            executor = self._executors.of(assignment.runtime)
            told = await self._execute(executor, attempt)
        except asyncio.CancelledError:
            told = self._handed_back(attempt)
        except NoHandler as error:
            told = _release(assignment, "no_handler", str(error))
        except SecretMissing as error:
            told = refused("invalid", "invalid_parameters", str(error))
        # A fault of an executor is a failure of this attempt, not of the worker.
        except Exception as error:
            log.exception("item %d, attempt %d: the executor failed", assignment.item_id, assignment.attempt)
            told = outcome_of(error)
        if attempt.verdict is not None and not (isinstance(told, Outcome) and told.status == "succeeded"):
            told = attempt.verdict
        self._settle(attempt, told)

    async def _execute(self, executor: Executor, attempt: Attempt) -> Outcome:
        assignment = attempt.assignment
        if assignment.secrets:
            assignment = self._secrets.fill(assignment)
        return await executor.run(assignment, attempt.context)

    def _settle(self, attempt: Attempt, told: Outcome | Release) -> None:
        assignment = attempt.assignment
        if isinstance(told, Release):
            self._outbox.put(self._secrets.scrub_release(told, assignment))
        else:
            place = (assignment.execution_id, assignment.item_id, assignment.attempt, assignment.token)
            scrubbed = self._secrets.scrub_outcome(told, assignment)
            self._outbox.put(Report(*place, within_limits(scrubbed), assignment.step, assignment.item))
        self._running.pop((assignment.item_id, assignment.token), None)
        self._slot_free.set()
        if not self._running:
            self._idle.set()

    # Heartbeats

    async def _beat_forever(self) -> None:
        while True:
            try:
                await self._beat()
            except LinkDown:
                # The attempts go on: after a gap in service the server waits a full lease before it gives any up.
                await asyncio.sleep(min(self._terms.heartbeat, 1.0))
            else:
                await asyncio.sleep(self._terms.heartbeat)

    async def _beat(self, *, leaving: bool = False) -> None:
        held = [Held(item_id, token) for item_id, token in self._running]
        lost = tuple(self._lost_grants)
        beat = Heartbeat(self._registration.worker, (*held, *self._outbox.held()), lost, leaving)
        answer = await self._link.call(self._transport.heartbeat(beat), seconds=self._terms.lease)
        self._lost_grants.difference_update(lost)
        for revoked in answer.revoked:
            attempt = self._running.get((revoked.item_id, revoked.token))
            if attempt is not None:
                log.warning("item %d: its lease was revoked; the attempt is ended", revoked.item_id)
                attempt.end(refused("cancelled", "cancelled_on_request", "ended: the lease was revoked"))

    # Stopping

    async def _drain_attempts(self, at_once: asyncio.Event, activities: list[asyncio.Task[None]]) -> None:
        """What runs may finish, for a while; the rest is handed back; then everything is told to the server."""
        if self._running:
            if not at_once.is_set():
                count = len(self._running)
                running = "1 attempt is" if count == 1 else f"{count} attempts are"
                log.info("draining: %s running, up to %g s", running, self._drain)
            await self._within(self._drain, at_once, self._no_attempts(), *activities)
        for attempt in list(self._running.values()):
            attempt.end(self._handed_back(attempt))
        await self._attempts_ended()
        await self._within(FLUSH_SECONDS, asyncio.Event(), self._flush(), *activities)
        if len(self._outbox):
            log.error("%d attempts could not be reported; their leases will run out", len(self._outbox))

    async def _no_attempts(self) -> None:
        while self._running:
            self._idle.clear()
            await self._idle.wait()

    async def _attempts_ended(self) -> None:
        tasks = [attempt.task for attempt in self._running.values() if attempt.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=CANCEL_SECONDS)
        for attempt in list(self._running.values()):  # code that does not let itself be cancelled
            self._settle(attempt, attempt.verdict or self._handed_back(attempt))

    async def _flush(self) -> None:
        await self._outbox.empty()
        while True:
            try:
                await self._beat(leaving=True)
            except LinkDown:
                await self._link.pause()
            else:
                return

    def _handed_back(self, attempt: Attempt) -> Release:
        return _release(attempt.assignment, "draining", f"worker {self._registration.worker} is stopping")

    async def _within(self, seconds: float, event: asyncio.Event, *work: Awaitable[None]) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._until(event, *work)
        except TimeoutError:
            return

    async def _until(self, event: asyncio.Event, *work: Awaitable[None]) -> bool:
        """Waits for the first of them; True where that is not the event. What the work raises comes out.

        Coroutines are ended with the wait; tasks are their owner's.
        """
        own = [asyncio.ensure_future(part) for part in work if not isinstance(part, asyncio.Task)]
        tasks = [*own, *(part for part in work if isinstance(part, asyncio.Task))]
        waiter = asyncio.create_task(event.wait())
        try:
            await asyncio.wait({waiter, *tasks}, return_when=asyncio.FIRST_COMPLETED)
            ended = [task for task in tasks if task.done()]
            for task in ended:
                task.result()
            return bool(ended)
        finally:
            await _cancelled(waiter, *(task for task in own if not task.done()))


def _release(assignment: Assignment, reason: Literal["draining", "no_handler"], detail: str) -> Release:
    return Release(
        assignment.execution_id, assignment.item_id, assignment.attempt, assignment.token, reason, detail
    )


async def _cancelled(*tasks: asyncio.Future[None] | asyncio.Task[bool]) -> None:
    """Cancels them and waits for their end. What they had to say was heard elsewhere."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
