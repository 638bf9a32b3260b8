"""Carries out commands on the database itself.

Views other than events become plain values, so that commands get the same values as over HTTP.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from msgspec import to_builtins

from tenax.cli.backend.protocol import (
    BULK_JOB,
    LETTER,
    BulkWish,
    ListFilter,
    OutputFilter,
    check_id,
    user_name,
)
from tenax.engine.engine import Engine
from tenax.engine.operate.operator_action import ActionRequest
from tenax.errors import Unreachable
from tenax.model.events.audit import AuditFilter
from tenax.model.execution_views import Event, News
from tenax.model.filters.letters import LetterFilter
from tenax.model.filters.parse import parse_filter
from tenax.model.fleet.queue_limits import QueueLimits
from tenax.model.metrics.figures import By
from tenax.model.wire import Submission, Submitted


class DatabaseBackend:
    """Uses an engine whose loops do not run, so that a short command leases, reaps and repairs nothing."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._actor = user_name()

    async def submit(self, submission: Submission) -> Submitted:
        await self._engine.workflow_pauses.learn()
        async with self._writing():
            [submitted] = await self._engine.submit([submission])
        return submitted

    async def submit_many(self, submissions: Sequence[Submission]) -> Sequence[Submitted]:
        await self._engine.workflow_pauses.learn()
        async with self._writing():
            return await self._engine.submit(submissions)

    async def find_faults(self, submissions: Sequence[Submission]) -> Sequence[tuple[int, str]]:
        return [(one.place, one.error) for one in await self._engine.find_faults(submissions)]

    async def get(self, execution_id: int) -> dict[str, Any]:
        return dict(to_builtins(await self._engine.get(check_id(execution_id))))

    async def list(self, wanted: ListFilter) -> list[dict[str, Any]]:
        found = await self._engine.list(
            parse_filter(wanted.filter),
            states=list(wanted.states) or None,
            workflow=wanted.workflow,
            since=wanted.since,
            before=wanted.before,
            limit=wanted.limit,
            top=wanted.top,
            compensation=wanted.compensation,
        )
        return [to_builtins(one) for one in found]

    async def events(self, execution_id: int, *, after: int = 0) -> Sequence[Event]:
        return await self._engine.events(check_id(execution_id), after=after)

    async def news(self, execution_id: int, *, cursor: str | None = None, wait: float = 0.0) -> News:
        return await self._engine.news(check_id(execution_id), cursor=cursor, wait=wait)

    async def explain(
        self, execution_id: int, *, step: str | None, attempt: int | None, item: int | None = None
    ) -> Sequence[dict[str, Any]]:
        found = await self._engine.explain(check_id(execution_id), step=step, attempt=attempt, item=item)
        return [to_builtins(one) for one in found]

    async def diagnose(self, execution_id: int, *, step: str | None, item: int | None) -> dict[str, Any]:
        found = await self._engine.diagnose(check_id(execution_id), step=step, item=item)
        return dict(to_builtins(found))

    async def diagnose_worker(self, name: str) -> dict[str, Any]:
        return dict(to_builtins(await self._engine.diagnose_worker(name)))

    async def diagnose_queue(self, name: str) -> dict[str, Any]:
        return dict(to_builtins(await self._engine.diagnose_queue(name)))

    async def items(
        self, execution_id: int, step: str, *, states: Sequence[str], after: int, limit: int
    ) -> Sequence[dict[str, Any]]:
        found = await self._engine.items(
            check_id(execution_id), step, states=list(states) or None, after=after, limit=limit
        )
        return [to_builtins(item) for item in found]

    async def progress(self, execution_id: int) -> Sequence[dict[str, Any]]:
        return [to_builtins(one) for one in await self._engine.progress(check_id(execution_id))]

    async def output(self, execution_id: int, wanted: OutputFilter, *, after: int) -> dict[str, Any]:
        found = await self._engine.output(check_id(execution_id), after=after, **asdict(wanted))
        return dict(to_builtins(found))

    async def verify(self, execution_id: int | None, *, after: int, since: datetime | None) -> dict[str, Any]:
        only = None if execution_id is None else check_id(execution_id)
        return dict(to_builtins(await self._engine.verify(after=after, since=since, only=only)))

    async def tree(self, execution_id: int) -> dict[str, Any]:
        return dict(to_builtins(await self._engine.tree(check_id(execution_id))))

    async def install_pack(self, archive: bytes, *, folder: str) -> dict[str, Any]:
        async with self._writing():
            answer = await self._engine.packs.install(_pieces(archive), folder=folder, actor=self._actor)
        return dict(to_builtins(answer))

    async def packs(self) -> Sequence[dict[str, Any]]:
        return [to_builtins(one) for one in await self._engine.packs.list()]

    async def pack(self, name: str) -> dict[str, Any]:
        return dict(to_builtins(await self._engine.packs.get(name)))

    async def remove_pack(self, name: str) -> dict[str, Any]:
        async with self._writing():
            return dict(to_builtins(await self._engine.packs.remove(name, actor=self._actor)))

    async def actions(self, pack: str | None) -> Sequence[dict[str, Any]]:
        return [to_builtins(one) for one in await self._engine.packs.actions(pack)]

    async def action(self, ref: str) -> dict[str, Any]:
        return dict(to_builtins(await self._engine.packs.action(ref)))

    async def run_action(self, ref: str, params: Mapping[str, Any]) -> int:
        async with self._writing():
            return (await self._engine.run_action(ref, params)).id

    async def cancel(self, execution_id: int, *, reason: str | None) -> bool:
        async with self._writing():
            return await self._engine.cancel(check_id(execution_id), actor=self._actor, reason=reason)

    async def run_anew(
        self,
        execution_id: int,
        *,
        inputs: Mapping[str, Any] | None,
        reason: str | None,
    ) -> dict[str, Any]:
        await self._engine.workflow_pauses.learn()
        async with self._writing():
            done = await self._engine.run_anew(
                check_id(execution_id), actor=self._actor, reason=reason, input=inputs
            )
        return {name: value for name, value in to_builtins(done).items() if value is not None}

    async def act(self, execution_id: int, asked: ActionRequest) -> dict[str, Any]:
        async with self._writing():
            done = await self._engine.act(check_id(execution_id), asked, actor=self._actor)
        return dict(to_builtins(done))

    async def signal(
        self, execution_id: int, name: str, *, data: Any, key: str | None, reason: str | None
    ) -> dict[str, Any]:
        async with self._writing():
            done = await self._engine.signal(
                check_id(execution_id), name, data=data, key=key, actor=self._actor, reason=reason
            )
        return dict(to_builtins(done))

    async def decide_approval(
        self, execution_id: int, step: str, *, approved: bool, item: int | None, reason: str | None
    ) -> dict[str, Any]:
        async with self._writing():
            done = await self._engine.decide_approval(
                check_id(execution_id), step, approved=approved, item=item, actor=self._actor, reason=reason
            )
        return dict(to_builtins(done))

    async def pause(self, execution_id: int, *, reason: str | None) -> bool:
        async with self._writing():
            return await self._engine.pause(check_id(execution_id), actor=self._actor, reason=reason)

    async def resume(self, execution_id: int, *, reason: str | None) -> bool:
        async with self._writing():
            return await self._engine.resume(check_id(execution_id), actor=self._actor, reason=reason)

    async def dead_letters(
        self, wanted: LetterFilter, *, before: int | None, limit: int
    ) -> Sequence[dict[str, Any]]:
        found = await self._engine.letters.list(wanted, before=before, limit=limit)
        return [to_builtins(one) for one in found]

    async def dead_letter_groups(self, wanted: LetterFilter, *, limit: int) -> Sequence[dict[str, Any]]:
        return [to_builtins(one) for one in await self._engine.letters.groups(wanted, limit=limit)]

    async def dead_letter(self, letter_id: int) -> dict[str, Any]:
        return dict(to_builtins(await self._engine.letters.get(check_id(letter_id, LETTER))))

    async def redrive(self, ids: Sequence[int], *, reason: str | None) -> dict[str, Any]:
        numbers = [check_id(one, LETTER) for one in ids]
        async with self._writing():
            done = await self._engine.letters.redrive(numbers, actor=self._actor, reason=reason)
        return dict(to_builtins(done))

    async def discard(self, ids: Sequence[int], wanted: LetterFilter | None, *, note: str) -> dict[str, Any]:
        letters, numbers = self._engine.letters, [check_id(one, LETTER) for one in ids]
        async with self._writing():
            if wanted is not None:
                done = await letters.discard_matching(wanted, actor=self._actor, note=note)
            else:
                done = await letters.discard(numbers, actor=self._actor, note=note)
        return dict(to_builtins(done))

    async def store_workflow(self, source: str, *, filename: str, files: Mapping[str, str]) -> dict[str, Any]:
        stored = await self._engine.store_workflow(
            source, filename=filename, files=dict(files), actor=self._actor
        )
        return dict(to_builtins(stored))

    async def workflows(self, name: str | None) -> Sequence[dict[str, Any]]:
        return [to_builtins(one) for one in await self._engine.workflows(name)]

    async def workers(self, *, all: bool = False) -> Sequence[dict[str, Any]]:  # noqa: A002 -- the flag's name
        return [to_builtins(worker) for worker in await self._engine.workers(all=all)]

    async def worker(self, name: str) -> dict[str, Any]:
        return dict(to_builtins(await self._engine.worker(name)))

    async def pause_worker(self, name: str, *, reason: str | None) -> bool:
        async with self._writing():
            return await self._engine.pause_worker(name, actor=self._actor, reason=reason)

    async def drain_worker(self, name: str, *, reason: str | None) -> bool:
        async with self._writing():
            return await self._engine.drain_worker(name, actor=self._actor, reason=reason)

    async def resume_worker(self, name: str, *, reason: str | None) -> bool:
        async with self._writing():
            return await self._engine.resume_worker(name, actor=self._actor, reason=reason)

    async def release_worker(self, name: str, *, reason: str | None) -> bool:
        async with self._writing():
            return await self._engine.release_worker(name, actor=self._actor, reason=reason)

    async def queues(self) -> Sequence[dict[str, Any]]:
        return [to_builtins(queue) for queue in await self._engine.queues()]

    async def limit_queue(self, queue: str, limits: QueueLimits, *, reason: str | None) -> dict[str, Any]:
        async with self._writing():
            limited = await self._engine.limit_queue(
                queue, **asdict(limits), actor=self._actor, reason=reason
            )
        return dict(to_builtins(limited))

    async def pause_queue(self, queue: str, *, reason: str | None) -> bool:
        async with self._writing():
            return await self._engine.pause_queue(queue, actor=self._actor, reason=reason)

    async def resume_queue(self, queue: str, *, reason: str | None) -> bool:
        async with self._writing():
            return await self._engine.resume_queue(queue, actor=self._actor, reason=reason)

    async def pause_workflow(self, name: str, *, reason: str | None) -> bool:
        async with self._writing():
            return await self._engine.pause_workflow(name, actor=self._actor, reason=reason)

    async def resume_workflow(self, name: str, *, reason: str | None) -> bool:
        async with self._writing():
            return await self._engine.resume_workflow(name, actor=self._actor, reason=reason)

    async def alerts(self) -> dict[str, Any]:
        return dict(to_builtins(await self._engine.metrics.alerts()))

    async def overview(self) -> dict[str, Any]:
        return dict(to_builtins(await self._engine.metrics.overview()))

    async def stats(self, *, by: By, since: datetime | None, until: datetime | None) -> dict[str, Any]:
        return dict(to_builtins(await self._engine.metrics.stats(by=by, since=since, until=until)))

    async def audit(self, wanted: AuditFilter, *, before: int | None, limit: int) -> Sequence[dict[str, Any]]:
        return [to_builtins(one) for one in await self._engine.audit(wanted, before=before, limit=limit)]

    async def filters(self) -> Sequence[dict[str, Any]]:
        return [to_builtins(one) for one in await self._engine.filters.list()]

    async def save_filter(self, name: str, text: str) -> dict[str, Any]:
        return dict(to_builtins(await self._engine.filters.save(name, text, actor=self._actor)))

    async def remove_filter(self, name: str) -> dict[str, Any]:
        return dict(to_builtins(await self._engine.filters.remove(name, actor=self._actor)))

    async def schedules(self) -> Sequence[dict[str, Any]]:
        return [to_builtins(one) for one in await self._engine.schedules.list()]

    async def schedule(self, name: str) -> dict[str, Any]:
        return dict(to_builtins(await self._engine.schedules.get(name)))

    async def next_ticks(self, name: str, most: int) -> Sequence[str]:
        return (await self._engine.schedules.next(name, most)).ticks

    async def create_schedule(
        self, name: str, schedule: Mapping[str, Any], *, workflow: str
    ) -> dict[str, Any]:
        async with self._writing():
            created = await self._engine.schedules.create(name, workflow, schedule, actor=self._actor)
        return dict(to_builtins(created))

    async def pause_schedule(self, name: str, *, reason: str | None) -> bool:
        return (await self._engine.schedules.pause(name, actor=self._actor, reason=reason)).changed

    async def resume_schedule(self, name: str, *, reason: str | None) -> bool:
        async with self._writing():
            return (await self._engine.schedules.resume(name, actor=self._actor, reason=reason)).changed

    async def run_schedule(self, name: str, *, reason: str | None) -> int:
        async with self._writing():
            answer = await self._engine.schedules.run_now(name, actor=self._actor, reason=reason)
        return answer.execution_id

    async def delete_schedule(self, name: str) -> dict[str, Any]:
        return dict(to_builtins(await self._engine.schedules.delete(name, actor=self._actor)))

    async def create_bulk_job(self, wish: BulkWish) -> dict[str, Any]:
        async with self._writing():
            job = await self._engine.bulk.create_of_text(actor=self._actor, **asdict(wish))
        return dict(to_builtins(job))

    async def bulk_jobs(self) -> Sequence[dict[str, Any]]:
        return [to_builtins(job) for job in await self._engine.bulk.list()]

    async def bulk_job(self, job_id: int) -> dict[str, Any]:
        return dict(to_builtins(await self._engine.bulk.get(check_id(job_id, BULK_JOB))))

    async def start_bulk_job(self, job_id: int) -> dict[str, Any]:
        async with self._writing():
            job = await self._engine.bulk.start(check_id(job_id, BULK_JOB), actor=self._actor)
        return dict(to_builtins(job))

    async def stop_bulk_job(self, job_id: int, *, reason: str | None) -> dict[str, Any]:
        async with self._writing():
            job = await self._engine.bulk.stop(check_id(job_id, BULK_JOB), actor=self._actor, reason=reason)
        return dict(to_builtins(job))

    async def resume_bulk_job(self, job_id: int, *, reason: str | None) -> dict[str, Any]:
        async with self._writing():
            job = await self._engine.bulk.resume(check_id(job_id, BULK_JOB), actor=self._actor, reason=reason)
        return dict(to_builtins(job))

    async def has_no_workers(self) -> bool:
        from tenax.store.dispatch.able_workers import count_live_workers

        async with self._engine.context.transaction() as tx:
            return not await count_live_workers(tx, self._engine.context.settings.lease)

    @contextlib.asynccontextmanager
    async def _writing(self) -> AsyncIterator[None]:
        """Makes the log's partitions before the block writes, and notifies the servers after it.

        There may have been no server yet. Rows written before the partitions exist would prevent making them.
        """
        from tenax.store.service import ensure_log_partitions

        async with self._engine.context.transaction() as tx:
            await ensure_log_partitions(tx)
        yield
        with contextlib.suppress(
            Unreachable
        ):  # the change is committed, and the sweep of a server finds it too
            await self._engine.context.notifier.flush()


async def _pieces(archive: bytes) -> AsyncIterator[bytes]:
    yield archive
