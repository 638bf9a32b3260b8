"""Runs the worker: it leases items for its free slots, runs them and reports their outcomes. It decides nothing.

Four activities run side by side and never wait for each other: leasing, reporting (`outbox`), heartbeats, and the pulse, which
measures how late the event loop wakes. Attempts run in tasks of their own (`task_pool`).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

from tenax.credentials.private_variables import own_variables
from tenax.model.attempt.outcome import Outcome
from tenax.model.definition.tiers import NO_AGENT_DEFAULTS, AgentDefaults
from tenax.model.definition.types import RUNTIMES
from tenax.model.wire import (
    PROTOCOL,
    Assignment,
    Heartbeat,
    Held,
    LeaseRequest,
    Registration,
    RegistrationAnswer,
    Release,
)
from tenax.worker.attempt import (
    RunningAttempt,
    count_in_words,
    is_success,
    make_release,
    make_report,
    note_told,
    scrubbed_entry,
    usage_to_tell,
    with_request,
)
from tenax.worker.attempt_services import Transactions, WorkerServices
from tenax.worker.executors import RESULT_LIMIT, Executor
from tenax.worker.executors.runtimes import Executors
from tenax.worker.handlers.error_outcomes import classified_failure, outcome_of
from tenax.worker.handlers.registry import NoHandler
from tenax.worker.handlers.secrets import SecretMissing, Secrets
from tenax.worker.link import Link, LinkDown
from tenax.worker.live.notes import NoteSender
from tenax.worker.outbox import Outbox
from tenax.worker.packs.cache import CACHE_SIZE, PackCache
from tenax.worker.packs.fetch import fetches_over
from tenax.worker.self_check import NO_DEMAND, Demand, SelfCheck
from tenax.worker.server_orders import ServerOrders
from tenax.worker.task_pool import TaskPool
from tenax.worker.transport import Transport, register_with
from tenax.worker.waiting import cancel_and_wait, ended_before, is_being_cancelled, wait_at_most

FLUSH_SECONDS = 10.0
"""Seconds for which a stopping worker goes on trying to report its finished attempts."""
NOTES_SECONDS = 3.0
"""Seconds for which a stopping worker goes on trying to send what its attempts printed."""
CANCEL_SECONDS = 5.0
"""Seconds that a cancelled attempt may take to end. The grace of a process group is part of them."""
MAX_BACKLOG = 4
"""Finished and unreported attempts per slot. With more, the worker leases nothing."""
PULSE_SECONDS = 0.25
"""Seconds between two checks of how late the event loop wakes, and of whether the worker may ask for work."""

log = logging.getLogger("tenax.worker")


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
        overload_lag: float = 1.0,
        http_addresses: str = "any",
        max_result: int = RESULT_LIMIT,
        packs: Path | None = None,
        pack_cache: int = CACHE_SIZE,
        environment: Mapping[str, str] | None = None,
        life: str | None = None,
        agents: AgentDefaults = NO_AGENT_DEFAULTS,
        database: Transactions | None = None,
        wrap_executor: Callable[[Executor], Executor] | None = None,
    ) -> None:
        """Prepares a worker. `packs` is the folder in which it keeps packs: a temporary one if it is None. Its tasks complete in
        transactions of `database` (`ctx.transaction()`).

        `life` is a UUID that names this run of the process, if a supervisor chose one. `environment` defaults to that of this
        process. `wrap_executor` is applied to each executor: tests inject failures with it.
        """
        self._transport = transport
        offers = (tuple(runtimes), tuple(queues), dict(labels or {}), slots, version)
        self._registration = Registration(name, *offers, life, execution_id, PROTOCOL)
        self._slots, self._drain, self._wait = slots, drain, wait
        self._secrets = Secrets(own_variables() if environment is None else environment)
        self._services = WorkerServices(self._secrets, database)
        self._link = Link()
        self._executors = Executors(
            self._count_overdue, PackCache(fetches_over(transport, self._link), packs, pack_cache),
            http_addresses=http_addresses, max_result=max_result, agents=agents, wrap=wrap_executor,
        )  # fmt: skip
        self._notes = NoteSender(name, transport, self._link, self._secrets)
        self._outbox = Outbox(transport, self._link, self._note_reported)
        self._running: dict[tuple[int, str], RunningAttempt] = {}
        self._pool = TaskPool(self._run)
        self._slot_free, self._idle, self._known = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._refusing = False
        self._asking: asyncio.Timeout | None = None
        """The timeout of the lease request that is under way. Only `_review_demand` lets it expire."""
        self._check = SelfCheck(slots, overload_lag)
        self._demand: Demand = "full"
        self._least_depth = 0
        """The smallest depth since the last pulse. It ignores a momentary backlog, while the next report is on its way."""
        self._orders = ServerOrders(name)
        self._stopping = False
        self._lost_grants: set[str] = set()
        self._terms = RegistrationAnswer(lease=30.0, heartbeat=10.0)

    async def run(self, stop: asyncio.Event, at_once: asyncio.Event | None = None) -> None:
        """Works until `stop` is set, then drains. `at_once` cuts the draining short. Also ends if the server asks for it.

        Raises errors that only a person can correct: a refused token, a wrong URL, a name that another worker has taken
        over. The transport is left open.
        """
        self._registration = replace(self._registration, life=self._registration.life or str(uuid4()))
        activities: list[asyncio.Task[None]] = []
        try:
            if not await ended_before(stop, self._register()):
                return
            asking = [asyncio.create_task(self._lease_forever()), asyncio.create_task(self._pulse_forever())]
            telling = [
                asyncio.create_task(self._outbox.run()),
                asyncio.create_task(self._beat_forever()),
                asyncio.create_task(self._notes.run()),
            ]
            activities += asking + telling
            await ended_before(stop, self._orders.must_leave.wait(), *activities)
            superseded = self._orders.superseded and not stop.is_set()
            self._stopping = True
            await cancel_and_wait(*asking)
            if not stop.is_set():  # the server ended the worker: every attempt may finish
                await ended_before(stop, self._no_attempts(), *telling)
            await self._drain_attempts(at_once or asyncio.Event(), telling)
            if superseded:
                raise self._orders.conflict()
        finally:
            for attempt in list(self._running.values()):
                attempt.end_early(attempt.handed_back(self._registration.worker))
            await self._attempts_ended()
            await cancel_and_wait(*activities)
            await self._executors.close()
            await self._services.close()

    # Leasing

    async def _register(self) -> None:
        while True:
            try:
                await self._register_once()
            except LinkDown:
                await self._link.pause()
            else:
                return

    async def _register_once(self) -> None:
        self._terms = await self._link.call(register_with(self._transport, self._registration))
        self._check.terms = self._terms.health
        self._notes.take_terms(self._terms)
        self._known.set()

    async def _lease_forever(self) -> None:
        while True:
            await self._known.wait()
            while (wanted := self._wanted()) <= 0:
                self._slot_free.clear()
                await self._slot_free.wait()
            try:
                await self._lease(wanted)
            except LinkDown:
                await self._link.pause()

    async def _lease(self, wanted: int) -> None:
        grant, lost = str(uuid4()), tuple(self._lost_grants)
        who = self._registration
        takes = (who.runtimes, who.queues, who.labels, who.execution_id)
        request = LeaseRequest(who.worker, grant, wanted, *takes, self._wait, lost, who.life)
        try:
            async with asyncio.timeout(None) as self._asking:
                assignments = await self._link.call(self._transport.lease(request))
        except BaseException as error:
            # The server may have granted items in an answer that did not arrive.
            self._lost_grants.add(grant)
            if is_being_cancelled():  # the request may have turned the cancellation into another error
                raise asyncio.CancelledError from error
            if isinstance(error, TimeoutError):
                return  # `_review_demand` gave the request up
            raise
        finally:
            self._asking = None
        self._lost_grants.difference_update(lost)
        attempts = {
            (each.item_id, each.token): RunningAttempt(each, self._notes, self._services)
            for each in assignments
        }
        self._running |= attempts
        self._pool.add(attempts.values())
        if is_being_cancelled():  # the answer arrived all the same
            raise asyncio.CancelledError
        # Attempts that need not wait end now, and the next request asks for their slots too.
        await asyncio.sleep(0)

    def _wanted(self) -> int:
        """Returns the number of items to ask for now."""
        if self._refusing or len(self._outbox) > MAX_BACKLOG * self._slots:
            return 0
        busy = len(self._running) + self._check.overdue
        match self._check.demand(self._depth()):
            case "full":
                return self._slots - busy
            case "probe":
                return 0 if busy else 1
            case _:
                return 0

    def _depth(self) -> int:
        return len(self._running) + len(self._outbox) + self._check.overdue

    def _count_overdue(self, threads: int) -> None:
        self._check.overdue = threads
        self._slot_free.set()

    def _lasting_depth(self) -> int:
        return min(self._least_depth, self._depth())

    def _note_reported(self) -> None:
        self._least_depth = self._lasting_depth()
        self._slot_free.set()

    async def _pulse_forever(self) -> None:
        while True:
            due = time.monotonic() + PULSE_SECONDS
            await asyncio.sleep(PULSE_SECONDS)
            self._check.lag = time.monotonic() - due
            self._review_demand()

    def _review_demand(self) -> None:
        """Adapts the demand to the worker's state. A smaller demand gives up the request that is parked in the server."""
        depth, before = self._lasting_depth(), self._demand
        self._least_depth = self._depth()
        self._demand = self._check.demand(depth)
        if self._demand != before:
            level = logging.WARNING if self._demand in NO_DEMAND else logging.INFO
            log.log(level, "%s", self._check.describe(depth))
        if self._demand in NO_DEMAND or (before, self._demand) == ("full", "probe"):
            self._refusing = True
            if self._asking is not None and not self._asking.expired():
                self._asking.reschedule(asyncio.get_running_loop().time())
        else:
            self._refusing = False
            self._slot_free.set()

    # Running

    async def _run(self, attempt: RunningAttempt) -> None:
        assignment = attempt.assignment
        told: Outcome | Release
        try:
            attempt.raise_if_ended()
            executor = self._executors.of(assignment.runtime)
            filled = self._secrets.fill(assignment) if assignment.secrets else assignment
            told = await executor.run(filled, attempt.context)
        except asyncio.CancelledError:
            told = attempt.handed_back(self._registration.worker)
        except NoHandler as error:
            told = make_release(assignment, "no_handler", str(error))
        except SecretMissing as error:
            told = classified_failure("invalid", "invalid_parameters", str(error))
        except Exception as error:  # noqa: BLE001 - a fault of an executor fails this attempt and not the worker
            self._log_fault("the executor failed", assignment, error)
            told = outcome_of(error)
        if isinstance(told, Outcome) and told.facts is not None:
            told = with_request(told, assignment)
        if attempt.context.told is not None and not is_success(told):
            await self._notes.give_checkpoint(attempt.context)
        if attempt.override is not None and not is_success(told):
            told = attempt.override
        self._settle(attempt, attempt.with_usage(told))

    def _settle(self, attempt: RunningAttempt, told: Outcome | Release) -> None:
        assignment = attempt.assignment
        told = attempt.close(told)
        self._notes.end(attempt.context)
        if isinstance(told, Outcome) and told is not attempt.override:
            self._check.count(told, assignment, time.monotonic() - attempt.began)
        try:
            self._outbox.put(scrubbed_entry(self._secrets, assignment, told))
        except Exception as error:  # noqa: BLE001 - an attempt must end, however odd its result is
            self._log_fault("the outcome cannot be reported", assignment, error)
            why = f"the outcome of the attempt cannot be reported ({type(error).__name__})"
            self._outbox.put(make_report(assignment, classified_failure("invalid", "invalid_result", why)))
        self._running.pop((assignment.item_id, assignment.token), None)
        self._slot_free.set()
        if not self._running:
            self._idle.set()

    def _log_fault(self, what: str, assignment: Assignment, error: Exception) -> None:
        """Logs a fault with its traceback, from which secrets are scrubbed."""
        trace = self._secrets.scrub_traceback(error, assignment)
        log.error("item %d, attempt %d: %s\n%s", assignment.item_id, assignment.attempt, what, trace)

    # Heartbeats

    async def _beat_forever(self) -> None:
        while True:
            try:
                await self._beat()
            except LinkDown:
                # The attempts go on: after a gap in service the server waits one full lease before it expires any lease.
                await asyncio.sleep(min(self._terms.heartbeat, 1.0))
            else:
                await asyncio.sleep(self._terms.heartbeat)

    async def _beat(self, *, leaving: bool = False) -> None:
        held = [Held(item_id, token) for item_id, token in self._running]
        lost = tuple(self._lost_grants)
        who, health = self._registration, self._check.report(self._depth(), self._lasting_depth())
        told = usage_to_tell(self._running.values())
        holding = (*held, *self._outbox.held_leases())
        beat = Heartbeat(who.worker, holding, lost, leaving, who.life, health, tuple(told))
        answer = await self._link.call(self._transport.heartbeat(beat), seconds=self._terms.lease)
        note_told(self._running, told)
        self._lost_grants.difference_update(lost)
        for revoked in answer.revoked:
            attempt = self._running.get((revoked.item_id, revoked.token))
            ended = classified_failure("cancelled", "cancelled_on_request", "ended: the lease was revoked")
            if attempt is not None and attempt.end_early(ended):
                log.warning(
                    "item %d: the server revoked its lease, so the attempt is cancelled", revoked.item_id
                )
        self._check.note_verdict(answer.health)
        self._orders.apply(answer, stopping=self._stopping)
        if not answer.known and not self._stopping and not self._orders.must_leave.is_set():
            self._known.clear()
            await self._register_once()
            log.info("the server did not know this worker any more; it has registered again")

    # Stopping

    async def _drain_attempts(self, at_once: asyncio.Event, activities: list[asyncio.Task[None]]) -> None:
        """Waits for the running attempts until the drain time is over, hands back the rest, and reports everything."""
        if self._running:
            if not at_once.is_set():
                log.info("draining: %s running, up to %g s", count_in_words(self._running), self._drain)
            await wait_at_most(self._drain, at_once, self._no_attempts(), *activities)
        for attempt in list(self._running.values()):
            attempt.end_early(attempt.handed_back(self._registration.worker))
        await self._attempts_ended()
        await wait_at_most(FLUSH_SECONDS, asyncio.Event(), self._flush(), *activities)
        await wait_at_most(NOTES_SECONDS, asyncio.Event(), self._notes.wait_until_empty(), *activities)
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
        self._pool.clear()
        # Attempts that have not begun, and functions that ignore their cancellation.
        for attempt in list(self._running.values()):
            self._settle(attempt, attempt.override or attempt.handed_back(self._registration.worker))

    async def _flush(self) -> None:
        await self._outbox.wait_until_empty()
        while True:
            try:
                await self._beat(leaving=True)
            except LinkDown:
                await self._link.pause()
            else:
                return
