"""Offers all operations, and runs the loops that drive them."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from tenax.engine.dead_letters import DeadLetters
from tenax.engine.engine_reads import EngineReads
from tenax.engine.external import callbacks, signals
from tenax.engine.fleet import ended_lives, workers
from tenax.engine.fleet.notes import take_notes
from tenax.engine.forever import forever
from tenax.engine.graph.start_execution import Start
from tenax.engine.operate import family, manual_retry, queues
from tenax.engine.operate.act import act
from tenax.engine.operate.operator_action import ActionRequest
from tenax.engine.packs.library import PackLibrary
from tenax.engine.parts import Parts
from tenax.engine.recover.maintenance import SWEPT_AT_ONCE
from tenax.engine.report.release import release, release_grants
from tenax.engine.slices import TimeSlice
from tenax.engine.submit import resolve_definitions as definitions
from tenax.engine.submit.action_execution import action_start
from tenax.engine.submit.linked_start import LinkedExecution, WantedExecution, linked_start
from tenax.engine.views import executions as views
from tenax.model.attempt.outcome import Outcome
from tenax.model.fleet.health import SERVER_ACTOR, WorkerState
from tenax.model.fleet.views import LimitAnswer, Queue, Worker, WorkerInFull
from tenax.model.views import (
    ActionAnswer,
    ApprovalAnswer,
    RetryAnswer,
    SignalAnswer,
    StoredWorkflow,
    SubmissionFault,
)
from tenax.model.wire import (
    Assignment,
    AttemptNotes,
    AttemptNotesAnswer,
    EndedLife,
    EndedLifeAnswer,
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
from tenax.settings import Settings
from tenax.store import service
from tenax.store.applications.requested_submissions import limit_submissions
from tenax.store.connect import Database


class Engine(EngineReads):
    """Runs the operations. Its only state is caches and waiting requests, so any number of engines may share a database."""

    def __init__(
        self, database: Database, settings: Settings, *, roll: Callable[[], float] = random.random
    ) -> None:
        parts = Parts(database, settings, roll)
        self.context = parts.context
        self.letters = DeadLetters(parts.context)
        self.packs = PackLibrary(parts.context)
        self.dispatcher = parts.dispatcher
        self.server_steps = parts.server_steps
        self.inbox_delivery = parts.inbox_delivery
        self.budget_keeper = parts.budget_keeper
        self.schedules = parts.schedules
        self.schedule_runner = parts.schedule_runner
        self.timers = parts.timers
        self.maintenance = parts.maintenance
        self.metrics = parts.metrics
        self.filters = parts.filters
        self.tokens = parts.tokens
        self.bulk = parts.bulk
        self.bulk_runner = parts.bulk_runner
        self.workflow_pauses = parts.workflow_pauses
        self.requested_submissions = parts.requested
        self._report = parts.report
        self._heartbeat = parts.heartbeat
        self._submit = parts.submit
        self._reaper = parts.reaper
        self._loops: list[asyncio.Task[None]] = []

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Engine]:
        """Runs the loops for as long as the block lasts."""
        await self.context.database.wait_for(self.prepare)
        await self.context.database.planned_pool.open_ahead()
        notifier = self.context.notifier
        loops = (
            self.dispatcher.run,
            self.server_steps.run,
            self.inbox_delivery.run,
            self.budget_keeper.run,
            self.timers.run,
            self.bulk_runner.run,
            self.workflow_pauses.run,
            self.requested_submissions.run,
            notifier.send,
            notifier.receive,
            *self.maintenance.loops,
            self.metrics.counting.run,
        )
        self._loops = [asyncio.create_task(forever(loop)) for loop in loops]
        try:
            yield self
        finally:
            await self._report.close()
            await self._submit.close()
            await self.maintenance.close()
            for loop in self._loops:
                loop.cancel()
            await asyncio.gather(*self._loops, return_exceptions=True)
            self.server_steps.close()
            await self.dispatcher.close()  # its last answers may need the reader processes
            self.context.reading.reader_processes.close()

    async def prepare(self) -> None:
        """Loads and repairs what the first operation needs."""
        async with self.context.transaction() as tx:
            self.context.secret = await service.secret(tx)
            await limit_submissions(tx, self.context.settings.max_body)
        await self.maintenance.make_log_partitions()
        await self.beat()
        await self.recover()
        await self.dispatcher.fleet.catch_up()

    # -- executions

    async def submit(self, submissions: Sequence[Submission]) -> list[Submitted]:
        for submission in submissions:
            definitions.check_submission(submission)
        found = await definitions.plans_of(self.context, submissions)
        starts: list[Start] = []
        time_slice = TimeSlice()
        for one, (plan, plan_id) in zip(submissions, found, strict=True):
            if time_slice.is_over:
                await time_slice.give_way()
            checked = await self.context.reading.check(plan.workflow, one.input)
            starts.append(
                Start(
                    plan,
                    plan_id,
                    checked,
                    one.key,
                    one.base_dir,
                    start_at=one.start_at,
                    start_in=one.start_in,
                )
            )
        return await self._submit(starts)

    async def execute(self, wanted: WantedExecution) -> LinkedExecution:
        """Starts an action of a pack or a stored workflow, linked to the execution that it repeats if it repeats one."""
        start = await linked_start(self.context, wanted)
        [submitted] = await self._submit([start])
        return LinkedExecution(submitted.id, start.retry_of, start.original_execution)

    async def run_action(
        self, ref: str, parameters: Mapping[str, Any], *, key: str | None = None
    ) -> Submitted:
        """Starts an execution of one action of a pack."""
        [submitted] = await self._submit([await action_start(self.context, ref, parameters, key)])
        return submitted

    async def find_faults(self, submissions: Sequence[Submission]) -> Sequence[SubmissionFault]:
        """Checks submissions as `submit` does, and starts nothing. Returns what is wrong with each of them."""
        return await definitions.find_faults(self.context, submissions)

    async def store_workflow(
        self,
        source: str,
        *,
        filename: str | None = None,
        files: Mapping[str, str] | None = None,
        actor: str = SERVER_ACTOR,
    ) -> StoredWorkflow:
        """Stores a definition without running it. `workflow: NAME` finds it afterwards."""
        return await definitions.store_workflow(self.context, source, filename, files, actor)

    async def is_called_back(self, execution_id: int) -> bool:
        """Returns whether the execution or one of its children has async steps."""
        return await definitions.is_called_back(self.context, await views.plan_id(self.context, execution_id))

    async def cancel(self, execution_id: int, *, actor: str, reason: str | None = None) -> bool:
        return await family.cancel(self.context, execution_id, actor=actor, reason=reason)

    async def pause(self, execution_id: int, *, actor: str, reason: str | None = None) -> bool:
        return await family.pause(self.context, execution_id, actor=actor, reason=reason)

    async def resume(self, execution_id: int, *, actor: str, reason: str | None = None) -> bool:
        return await family.resume(self.context, execution_id, actor=actor, reason=reason)

    async def act(self, execution_id: int, asked: ActionRequest, *, actor: str) -> ActionAnswer:
        """Carries out an operator's action on an execution, a step or a work item."""
        return await act(self.context, execution_id, asked, actor=actor)

    async def signal(
        self,
        execution_id: int,
        name: str,
        *,
        data: Any = None,
        key: str | None = None,
        actor: str,
        reason: str | None = None,
    ) -> SignalAnswer:
        """Gives a signal to the step that waits for it, or keeps it until a step does."""
        return await signals.signal(
            self.context, execution_id, name, data=data, key=key, actor=actor, reason=reason
        )

    async def decide_approval(
        self,
        execution_id: int,
        step: str,
        *,
        approved: bool,
        actor: str,
        item: int | None = None,
        reason: str | None = None,
    ) -> ApprovalAnswer:
        return await signals.decide_approval(
            self.context, execution_id, step, approved=approved, item=item, actor=actor, reason=reason
        )

    async def callback(
        self,
        execution_id: int,
        item_id: int,
        attempt: int,
        receipt: str,
        outcome: Outcome,
        *,
        step: str | None = None,
        item: int | None = None,
    ) -> ReportAnswer:
        """Applies the outcome that the callee of an async step has sent."""
        return await callbacks.callback(
            self.context, execution_id, item_id, attempt, receipt, outcome, step=step, item=item
        )

    async def run_anew(
        self,
        execution_id: int,
        *,
        actor: str,
        reason: str | None = None,
        input: Mapping[str, Any] | None = None,  # noqa: A002 -- the word of the API
    ) -> RetryAnswer:
        """Starts a finished execution again as a new one. `input` replaces inputs of the same name."""
        start = await manual_retry.run_anew(
            self.context, execution_id, actor=actor, reason=reason, changed=input or {}
        )
        [submitted] = await self._submit([start])
        return RetryAnswer(id=submitted.id, created=True, retry_of=execution_id)

    # -- workers

    async def register(self, who: Registration, *, token_id: int | None = None) -> RegistrationAnswer:
        """Registers a worker. Its name then belongs to the token with this id, or to nobody if it is None."""
        answer = await workers.register(self.context, who, token_id)
        self.dispatcher.fleet.note_registered(who)
        self.context.notifier.announce(fleet=True)
        return answer

    async def lease(self, request: LeaseRequest) -> Sequence[Assignment]:
        return await self.dispatcher.lease(request)

    async def report(self, reports: Sequence[Report], *, size: int = 0) -> Sequence[ReportAnswer]:
        """Writes reports. `size` is the number of bytes in which they were sent: large ones go beside the
        others."""
        return await self._report(reports, size=size)

    async def release(self, releases: Sequence[Release]) -> None:
        if releases:
            await release(self.context, releases)

    async def heartbeat(self, beat: Heartbeat) -> HeartbeatAnswer:
        self.dispatcher.heard_workers.heard(beat.worker)
        if beat.lost_grants:
            await release_grants(self.context, beat.worker, beat.lost_grants)
        return await self._heartbeat(beat)

    async def take_notes(self, notes: AttemptNotes) -> AttemptNotesAnswer:
        """Keeps what running attempts tell: checkpoints, progress and output."""
        return await take_notes(self.context, notes)

    async def end_life(self, ended: EndedLife) -> EndedLifeAnswer:
        """Ends the leases of a worker whose process has died, without waiting for them to expire."""
        return EndedLifeAnswer(await ended_lives.end_life(self.context, ended))

    async def workers(self, *, all: bool = False) -> Sequence[Worker]:  # noqa: A002 -- the word of the command
        """Lists the live workers; with `all`, also the workers that are gone and not forgotten yet."""
        return await workers.list_workers(self.context, gone=all)

    async def worker(self, name: str) -> WorkerInFull:
        return await workers.get_worker(self.context, name)

    async def pause_worker(self, name: str, *, actor: str, reason: str | None = None) -> bool:
        """Pauses a worker: it gets no new work until it is resumed."""
        return await self._steer(name, "paused", actor, reason)

    async def drain_worker(self, name: str, *, actor: str, reason: str | None = None) -> bool:
        """Drains a worker: it gets no new work, finishes the work that it has, and ends."""
        return await self._steer(name, "draining", actor, reason)

    async def resume_worker(self, name: str, *, actor: str, reason: str | None = None) -> bool:
        """Resumes a worker: it gets work again, and its failures are forgotten."""
        return await self._steer(name, "active", actor, reason)

    async def release_worker(self, name: str, *, actor: str, reason: str | None = None) -> bool:
        """Frees the name of a worker: the next worker that registers under it gets it, with any token."""
        return await workers.release_name(self.context, name, actor=actor, reason=reason)

    async def _steer(self, name: str, state: WorkerState, actor: str, reason: str | None) -> bool:
        changed = await workers.steer(self.context, name, state, actor=actor, reason=reason)
        await (
            self.dispatcher.fleet.catch_up()
        )  # this server applies it from now on, the others within a second
        return changed

    async def queues(self) -> Sequence[Queue]:
        return await queues.list_queues(self.context)

    async def pause_workflow(self, name: str, *, actor: str, reason: str | None = None) -> bool:
        """Pauses a workflow: its executions start no more work, and new ones begin paused. Returns False if it is paused
        already."""
        return await self.workflow_pauses.pause(name, actor=actor, reason=reason)

    async def resume_workflow(self, name: str, *, actor: str, reason: str | None = None) -> bool:
        return await self.workflow_pauses.resume(name, actor=actor, reason=reason)

    async def pause_queue(self, queue: str, *, actor: str, reason: str | None = None) -> bool:
        """Pauses a queue: none of its items starts. Returns False if it is paused already."""
        return await queues.pause_queue(self.context, queue, paused=True, actor=actor, reason=reason)

    async def resume_queue(self, queue: str, *, actor: str, reason: str | None = None) -> bool:
        return await queues.pause_queue(self.context, queue, paused=False, actor=actor, reason=reason)

    async def limit_queue(
        self,
        queue: str,
        *,
        concurrency: int | None,
        rate: float | None,
        burst: int | None,
        actor: str,
        reason: str | None = None,
    ) -> LimitAnswer:
        """Sets the limits of a queue to exactly these. None removes a limit."""
        limits = await queues.limit_queue(
            self.context, queue, concurrency=concurrency, rate=rate, burst=burst, actor=actor, reason=reason
        )
        await self.dispatcher.fleet.catch_up()
        return limits

    # -- what keeps it all going

    async def reap(self) -> int:
        return await self._reaper.reap()

    async def recover(self, most: int = SWEPT_AT_ONCE) -> Sequence[int]:
        """Repairs open executions that lack a work item. Returns their ids."""
        return await self.maintenance.recover(most)

    async def sweep(self) -> None:
        await self.maintenance.sweep()

    async def look_after_fleet(self) -> None:
        await self.maintenance.look_after_fleet()

    async def beat(self) -> None:
        await self.maintenance.beat()

    async def ready(self) -> None:
        """Raises `Unreachable` if the database cannot be reached."""
        async with self.context.transaction() as tx:
            await service.secret(tx)
