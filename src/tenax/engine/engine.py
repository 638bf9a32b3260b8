"""The engine: all verbs in one place, and the loops that keep them going."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

import structlog

from tenax.engine import control, views
from tenax.engine.batching import GroupCommit
from tenax.engine.core import Core
from tenax.engine.lease import Dispatcher
from tenax.engine.reap import Reaper
from tenax.engine.recover import Recovery
from tenax.engine.report import give_up_unwanted, release, release_grants, report
from tenax.engine.submit import Start, submit
from tenax.engine.timers import Timers
from tenax.errors import NotFound, Unreachable, UsageError
from tenax.model.parse import check_input
from tenax.model.policy import Patch
from tenax.model.wire import (
    Assignment,
    Heartbeat,
    HeartbeatAnswer,
    LeaseRequest,
    Registration,
    RegistrationAnswer,
    Release,
    Report,
    ReportAnswer,
    Submission,
    Submitted,
)
from tenax.policy.check import load_workflow
from tenax.policy.plan import Plan, make_plan
from tenax.settings import Settings
from tenax.store import plans, queue, service, workers
from tenax.store.connect import Database

SWEPT_AT_ONCE = 10_000
"""Open executions that one sweep looks at; the next goes on from there."""
WORKER_REMEMBERED = 7 * 86400.0
"""Seconds for which a worker that is gone is still listed."""
_log = structlog.get_logger("tenax.engine")


class Engine:
    """Stateless but for caches and parked requests: any number of engines may share a database."""

    def __init__(
        self, database: Database, settings: Settings, *, roll: Callable[[], float] = random.random
    ) -> None:
        self.core = Core(database, settings, roll=roll)
        self._submit = GroupCommit[Start, Submitted](lambda starts: submit(self.core, starts))
        self._report = GroupCommit[Report, ReportAnswer](lambda reports: report(self.core, reports))
        self.dispatcher = Dispatcher(self.core, self._report)
        self._reaper = Reaper(self.core)
        self._recovery = Recovery(self.core)
        self.timers = Timers(self.core, self.dispatcher, self._reaper)
        self._loops: list[asyncio.Task[None]] = []

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Engine]:
        """The loops, for as long as the block lasts."""
        await self.prepare()
        hub = self.core.hub
        loops = (self.dispatcher.run, self.timers.run, hub.send, hub.receive, self._beat, self._sweep)
        self._loops = [asyncio.create_task(_forever(loop)) for loop in loops]
        try:
            yield self
        finally:
            await self._report.close()
            await self._submit.close()
            for loop in self._loops:
                loop.cancel()
            await asyncio.gather(*self._loops, return_exceptions=True)

    async def prepare(self) -> None:
        """What must be known before the first verb."""
        async with self.core.transaction() as tx:
            self.core.secret = await service.secret(tx)
            await service.ensure_log_partitions(tx)
        await self.beat()
        await self.recover()

    # -- executions

    async def submit(self, submissions: Sequence[Submission]) -> list[Submitted]:
        return await self._submit([await self._start(submission) for submission in submissions])

    async def _start(self, submission: Submission) -> Start:
        plan = await self._plan(submission)
        checked = check_input(plan.workflow, submission.input)
        return Start(plan, await self.core.plan_id(plan), checked, submission.key, submission.base_dir)

    async def _plan(self, submission: Submission) -> Plan:
        server_retry = self.core.server_retry
        if submission.source is not None:
            return _plan_of_source(submission.source, submission.filename, _Hashable(server_retry))
        if submission.workflow is None:
            raise UsageError(
                "a submission needs the `source` of a definition, or the name of a stored `workflow`"
            )
        async with self.core.transaction() as tx:
            workflow = await plans.find_workflow(tx, submission.workflow)
        if workflow is None:
            raise NotFound(f"there is no workflow named {submission.workflow!r}")
        return make_plan(workflow, server_retry)

    async def get(self, execution_id: int) -> dict[str, Any]:
        return await views.get(self.core, execution_id)

    async def list(
        self,
        *,
        states: Sequence[str] | None = None,
        workflow: str | None = None,
        since: datetime | None = None,
        before: int | None = None,
        limit: int = 50,
    ) -> list[dict[str, Any]]:
        return await views.list_(
            self.core, states=states, workflow=workflow, since=since, before=before, limit=limit
        )

    async def events(self, execution_id: int, *, after: int = 0) -> Sequence[dict[str, Any]]:
        return await views.events(self.core, execution_id, after=after)

    async def news(
        self, execution_id: int, *, cursor: str | None = None, wait: float = 0.0
    ) -> dict[str, Any]:
        """`{"events": [...], "cursor": ...}`: what has happened since the cursor; waits for it, if told to."""
        return await views.news(self.core, execution_id, cursor=cursor, wait=wait)

    async def explain(
        self, execution_id: int, *, step: str | None = None, attempt: int | None = None
    ) -> Sequence[dict[str, Any]]:
        return await views.explain(self.core, execution_id, step=step, attempt=attempt)

    async def cancel(self, execution_id: int, *, actor: str, reason: str | None = None) -> bool:
        return await control.cancel(self.core, execution_id, actor=actor, reason=reason)

    async def retry(
        self, execution_id: int, *, actor: str, reason: str | None = None, from_failed: bool = False
    ) -> dict[str, Any]:
        """Waiting: now. Finished: a new execution, linked to this one."""
        if await control.is_open(self.core, execution_id):
            if from_failed:
                raise UsageError(
                    f"execution {execution_id} is still open: `--from-failed` is for a finished one"
                )
            steps = await control.retry_now(self.core, execution_id, actor=actor, reason=reason)
            return {"id": execution_id, "created": False, "steps": steps}
        start = await control.retry_anew(
            self.core, execution_id, actor=actor, reason=reason, from_failed=from_failed
        )
        [submitted] = await self._submit([start])
        return {"id": submitted.id, "created": True, "retry_of": execution_id}

    # -- workers

    async def register(self, who: Registration) -> RegistrationAnswer:
        async with self.core.transaction() as tx:
            await workers.register_worker(tx, who)
        return RegistrationAnswer(lease=self.core.settings.lease, heartbeat=self.core.settings.heartbeat)

    async def lease(self, request: LeaseRequest) -> Sequence[Assignment]:
        return await self.dispatcher.lease(request)

    async def report(self, reports: Sequence[Report]) -> Sequence[ReportAnswer]:
        return await self._report(reports)

    async def release(self, releases: Sequence[Release]) -> None:
        if releases:
            await release(self.core, releases)

    async def heartbeat(self, beat: Heartbeat) -> HeartbeatAnswer:
        self.dispatcher.presence.heard(beat.worker)
        if beat.lost_grants:
            await release_grants(self.core, beat.worker, beat.lost_grants)
        items, tokens = [held.item_id for held in beat.holding], [held.token for held in beat.holding]
        async with self.core.transaction() as tx:
            extended = await queue.extend_leases(tx, beat.worker, items, tokens, self.core.settings.lease)
            if beat.leaving:
                await workers.end_worker(tx, beat.worker)
        return HeartbeatAnswer(tuple(held for held in beat.holding if held.item_id not in extended))

    # -- what keeps it all going

    async def reap(self) -> int:
        return await self._reaper.reap()

    async def recover(self, most: int = SWEPT_AT_ONCE) -> Sequence[int]:
        """Repairs open executions that lack a work item. Returns their ids."""
        return await self._recovery.sweep(most)

    async def sweep(self) -> None:
        """What is looked after now and then: work that was left behind, workers that went away, room in the log."""
        await self.core.database.look_after()
        await self.recover()
        await give_up_unwanted(self.core)
        async with self.core.transaction() as tx:
            await workers.end_lost_workers(tx, 3 * self.core.settings.lease, WORKER_REMEMBERED)
            await service.ensure_log_partitions(tx)

    async def beat(self) -> None:
        """Says that a server is alive; after a gap, no lease expires for a full lease."""
        lease = self.core.settings.lease
        async with self.core.transaction() as tx:
            await queue.beat_service(tx, lease / 2, lease)

    async def ready(self) -> None:
        """Raises `Unreachable` where the database cannot be had."""
        async with self.core.transaction() as tx:
            await service.secret(tx)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self.core.settings.lease / 6)
            await self._safely(self.beat())

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(self.core.settings.sweep)
            await self._safely(self.sweep())

    async def _safely(self, work: Coroutine[Any, Any, object]) -> None:
        try:
            await work
        except Unreachable as error:
            _log.warning("the database is away", error=str(error))


async def _forever(loop: Callable[[], Awaitable[None]]) -> None:
    """A loop that breaks is reported and begins anew: the others depend on it."""
    while True:
        try:
            await loop()
        except Exception:  # noqa: BLE001 -- whatever it was, a server without this loop would stand still
            _log.exception("a loop of the engine broke; it begins anew", loop=loop.__qualname__)
            await asyncio.sleep(1)


class _Hashable:
    """The server's default policy as a key of the cache."""

    def __init__(self, patch: Patch | None) -> None:
        self.patch = patch

    def __hash__(self) -> int:
        return hash(repr(self.patch))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Hashable) and self.patch == other.patch


@lru_cache(maxsize=256)
def _plan_of_source(source: str, filename: str | None, server_retry: _Hashable) -> Plan:
    return make_plan(
        load_workflow(source, filename=filename, server_retry=server_retry.patch), server_retry.patch
    )
