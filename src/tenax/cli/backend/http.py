"""Carries out commands on a server over HTTP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Literal, cast

from msgspec import convert

from tenax.cli.backend.protocol import BULK_JOB, LETTER, BulkWish, ListFilter, OutputFilter, check_id
from tenax.engine.operate.operator_action import ActionRequest
from tenax.model.events.audit import AuditFilter
from tenax.model.execution_views import Event, News
from tenax.model.filters.letters import LetterFilter
from tenax.model.fleet.queue_limits import QueueLimits
from tenax.model.metrics.figures import By
from tenax.model.wire import Submission, Submitted
from tenax.sdk.client import Client


class ServerBackend:
    """Calls a server over HTTP."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def submit(self, submission: Submission) -> Submitted:
        return await self._client.submit(submission)

    async def submit_many(self, submissions: Sequence[Submission]) -> Sequence[Submitted]:
        return await self._client.submit_many(submissions)

    async def find_faults(self, submissions: Sequence[Submission]) -> Sequence[tuple[int, str]]:
        return [(one["place"], one["error"]) for one in await self._client.check_many(submissions)]

    async def get(self, execution_id: int) -> dict[str, Any]:
        return await self._client.get(check_id(execution_id))

    async def list(self, wanted: ListFilter) -> list[dict[str, Any]]:
        found = await self._client.list(
            filter=wanted.filter or None,
            status=",".join(wanted.states) or None,
            workflow=wanted.workflow,
            since=wanted.since.isoformat() if wanted.since else None,
            limit=wanted.limit,
            before=wanted.before,
            top=wanted.top,
            compensation=wanted.compensation,
        )
        return list(found)

    async def events(self, execution_id: int, *, after: int = 0) -> Sequence[Event]:
        return convert(await self._client.events(check_id(execution_id), after=after), list[Event])

    async def news(self, execution_id: int, *, cursor: str | None = None, wait: float = 0.0) -> News:
        return convert(await self._client.news(check_id(execution_id), cursor=cursor, wait=wait), News)

    async def explain(
        self, execution_id: int, *, step: str | None, attempt: int | None, item: int | None = None
    ) -> Sequence[dict[str, Any]]:
        found = await self._client.explain(check_id(execution_id), step=step, attempt=attempt, item=item)
        return list(found)

    async def diagnose(self, execution_id: int, *, step: str | None, item: int | None) -> dict[str, Any]:
        return await self._client.diagnose(check_id(execution_id), step=step, item=item)

    async def diagnose_worker(self, name: str) -> dict[str, Any]:
        return await self._client.diagnose_worker(name)

    async def diagnose_queue(self, name: str) -> dict[str, Any]:
        return await self._client.diagnose_queue(name)

    async def items(
        self, execution_id: int, step: str, *, states: Sequence[str], after: int, limit: int
    ) -> Sequence[dict[str, Any]]:
        status = ",".join(states) or None
        found = await self._client.items(
            check_id(execution_id), step, status=status, after=after if after >= 0 else None, limit=limit
        )
        return list(found)

    async def progress(self, execution_id: int) -> Sequence[dict[str, Any]]:
        return list(await self._client.progress(check_id(execution_id)))

    async def output(self, execution_id: int, wanted: OutputFilter, *, after: int) -> dict[str, Any]:
        return await self._client.logs(check_id(execution_id), after=after, **asdict(wanted))

    async def verify(self, execution_id: int | None, *, after: int, since: datetime | None) -> dict[str, Any]:
        only = None if execution_id is None else check_id(execution_id)
        return await self._client.verify(only, after=after, since=since.isoformat() if since else None)

    async def tree(self, execution_id: int) -> dict[str, Any]:
        return dict(await self._client.tree(check_id(execution_id)))

    async def signal(
        self, execution_id: int, name: str, *, data: Any, key: str | None, reason: str | None
    ) -> dict[str, Any]:
        return dict(
            await self._client.signal(check_id(execution_id), name, data=data, key=key, reason=reason)
        )

    async def decide_approval(
        self, execution_id: int, step: str, *, approved: bool, item: int | None, reason: str | None
    ) -> dict[str, Any]:
        verb = self._client.approve if approved else self._client.reject
        return dict(await verb(check_id(execution_id), step, item=item, reason=reason))

    async def pause(self, execution_id: int, *, reason: str | None) -> bool:
        return bool((await self._client.pause(check_id(execution_id), reason=reason))["changed"])

    async def resume(self, execution_id: int, *, reason: str | None) -> bool:
        return bool((await self._client.resume(check_id(execution_id), reason=reason))["changed"])

    async def dead_letters(
        self, wanted: LetterFilter, *, before: int | None, limit: int
    ) -> Sequence[dict[str, Any]]:
        return list(
            await self._client.dead_letters({"filter": str(wanted.whole)}, before=before, limit=limit)
        )

    async def dead_letter_groups(self, wanted: LetterFilter, *, limit: int) -> Sequence[dict[str, Any]]:
        return list(await self._client.dead_letter_groups({"filter": str(wanted.whole)}, limit=limit))

    async def dead_letter(self, letter_id: int) -> dict[str, Any]:
        return await self._client.dead_letter(check_id(letter_id, LETTER))

    async def redrive(self, ids: Sequence[int], *, reason: str | None) -> dict[str, Any]:
        numbers = [check_id(one, LETTER) for one in ids]
        return dict(await self._client.redrive(numbers, reason=reason))

    async def discard(self, ids: Sequence[int], wanted: LetterFilter | None, *, note: str) -> dict[str, Any]:
        numbers = [check_id(one, LETTER) for one in ids]
        chosen = None if wanted is None else str(wanted.whole)
        return dict(await self._client.discard(numbers, note=note, filter=chosen))

    async def store_workflow(self, source: str, *, filename: str, files: Mapping[str, str]) -> dict[str, Any]:
        return dict(await self._client.store_workflow(source, filename=filename, files=dict(files)))

    async def workflows(self, name: str | None) -> Sequence[dict[str, Any]]:
        return list(await self._client.workflows(name))

    async def install_pack(self, archive: bytes, *, folder: str) -> dict[str, Any]:
        return await self._client.install_pack(archive, folder=folder)

    async def packs(self) -> Sequence[dict[str, Any]]:
        return list(await self._client.packs())

    async def pack(self, name: str) -> dict[str, Any]:
        return await self._client.pack(name)

    async def remove_pack(self, name: str) -> dict[str, Any]:
        return await self._client.remove_pack(name)

    async def actions(self, pack: str | None) -> Sequence[dict[str, Any]]:
        return list(await self._client.actions(pack))

    async def action(self, ref: str) -> dict[str, Any]:
        return await self._client.action(ref)

    async def run_action(self, ref: str, params: Mapping[str, Any]) -> int:
        return int((await self._client.run_action(ref, params))["id"])

    async def cancel(self, execution_id: int, *, reason: str | None) -> bool:
        return bool((await self._client.cancel(check_id(execution_id), reason=reason))["changed"])

    async def run_anew(
        self,
        execution_id: int,
        *,
        inputs: Mapping[str, Any] | None,
        reason: str | None,
    ) -> dict[str, Any]:
        answer = await self._client.retry(check_id(execution_id), new=True, input=inputs, reason=reason)
        return {name: value for name, value in answer.items() if value is not None}

    async def act(self, execution_id: int, asked: ActionRequest) -> dict[str, Any]:
        check_id(execution_id)
        place: dict[str, Any] = {"step": asked.step, "item": asked.item, "reason": asked.reason}
        if asked.action == "retry":
            answer = await self._client.retry(execution_id, **place)
            kept = {name: answer[name] for name in ("id", "status", "steps", "items", "reopened")}
            return {**kept, "action": "retry", "changed": True}
        more: dict[str, Any] = {"result": asked.result} if asked.has_result else {}
        if asked.policy is not None:
            more["policy"] = dict(asked.policy)
        action = cast('Literal["reset", "resolve", "complete", "fail", "reschedule"]', asked.action)
        return await self._client.act(action, execution_id, **place, **more)

    async def workers(self, *, all: bool = False) -> Sequence[dict[str, Any]]:  # noqa: A002 -- the flag's name
        return list(await self._client.workers(all=all))

    async def worker(self, name: str) -> dict[str, Any]:
        return await self._client.worker(name)

    async def pause_worker(self, name: str, *, reason: str | None) -> bool:
        return bool((await self._client.pause_worker(name, reason=reason))["changed"])

    async def drain_worker(self, name: str, *, reason: str | None) -> bool:
        return bool((await self._client.drain_worker(name, reason=reason))["changed"])

    async def resume_worker(self, name: str, *, reason: str | None) -> bool:
        return bool((await self._client.resume_worker(name, reason=reason))["changed"])

    async def release_worker(self, name: str, *, reason: str | None) -> bool:
        return bool((await self._client.release_worker(name, reason=reason))["changed"])

    async def queues(self) -> Sequence[dict[str, Any]]:
        return list(await self._client.queues())

    async def limit_queue(self, queue: str, limits: QueueLimits, *, reason: str | None) -> dict[str, Any]:
        return dict(await self._client.limit_queue(queue, **asdict(limits), reason=reason))

    async def pause_queue(self, queue: str, *, reason: str | None) -> bool:
        return bool((await self._client.pause_queue(queue, reason=reason))["changed"])

    async def resume_queue(self, queue: str, *, reason: str | None) -> bool:
        return bool((await self._client.resume_queue(queue, reason=reason))["changed"])

    async def pause_workflow(self, name: str, *, reason: str | None) -> bool:
        return bool((await self._client.pause_workflow(name, reason=reason))["changed"])

    async def resume_workflow(self, name: str, *, reason: str | None) -> bool:
        return bool((await self._client.resume_workflow(name, reason=reason))["changed"])

    async def alerts(self) -> dict[str, Any]:
        return dict(await self._client.alerts())

    async def overview(self) -> dict[str, Any]:
        return dict(await self._client.overview())

    async def stats(self, *, by: By, since: datetime | None, until: datetime | None) -> dict[str, Any]:
        found = await self._client.stats(
            by=by,
            since=since.isoformat() if since else None,
            until=until.isoformat() if until else None,
        )
        return dict(found)

    async def audit(self, wanted: AuditFilter, *, before: int | None, limit: int) -> Sequence[dict[str, Any]]:
        target = wanted.kind if wanted.target is None else f"{wanted.kind}:{wanted.target}"
        found = await self._client.audit(
            actor=wanted.actor,
            action=wanted.action,
            target=target,
            since=wanted.since.isoformat() if wanted.since else None,
            until=wanted.until.isoformat() if wanted.until else None,
            before=before,
            limit=limit,
        )
        return list(found)

    async def filters(self) -> Sequence[dict[str, Any]]:
        return list(await self._client.filters())

    async def save_filter(self, name: str, text: str) -> dict[str, Any]:
        return dict(await self._client.save_filter(name, text))

    async def remove_filter(self, name: str) -> dict[str, Any]:
        return dict(await self._client.remove_filter(name))

    async def schedules(self) -> Sequence[dict[str, Any]]:
        return list(await self._client.schedules())

    async def schedule(self, name: str) -> dict[str, Any]:
        return await self._client.schedule(name)

    async def next_ticks(self, name: str, most: int) -> Sequence[str]:
        return list((await self._client.next_ticks(name, most))["ticks"])

    async def create_schedule(
        self, name: str, schedule: Mapping[str, Any], *, workflow: str
    ) -> dict[str, Any]:
        return dict(await self._client.create_schedule(name, schedule, workflow=workflow))

    async def pause_schedule(self, name: str, *, reason: str | None) -> bool:
        return bool((await self._client.pause_schedule(name, reason=reason))["changed"])

    async def resume_schedule(self, name: str, *, reason: str | None) -> bool:
        return bool((await self._client.resume_schedule(name, reason=reason))["changed"])

    async def run_schedule(self, name: str, *, reason: str | None) -> int:
        return int((await self._client.run_schedule(name, reason=reason))["execution_id"])

    async def delete_schedule(self, name: str) -> dict[str, Any]:
        return dict(await self._client.delete_schedule(name))

    async def create_bulk_job(self, wish: BulkWish) -> dict[str, Any]:
        sent = asdict(wish)
        sent["filter"] = sent.pop("text")
        if not sent.pop("has_result"):
            del sent["result"]
        return dict(await self._client.create_bulk_job(**sent))

    async def bulk_jobs(self) -> Sequence[dict[str, Any]]:
        return list(await self._client.bulk_jobs())

    async def bulk_job(self, job_id: int) -> dict[str, Any]:
        return dict(await self._client.bulk_job(check_id(job_id, BULK_JOB)))

    async def start_bulk_job(self, job_id: int) -> dict[str, Any]:
        return dict(await self._client.start_bulk_job(check_id(job_id, BULK_JOB)))

    async def stop_bulk_job(self, job_id: int, *, reason: str | None) -> dict[str, Any]:
        return dict(await self._client.stop_bulk_job(check_id(job_id, BULK_JOB), reason=reason))

    async def resume_bulk_job(self, job_id: int, *, reason: str | None) -> dict[str, Any]:
        return dict(await self._client.resume_bulk_job(check_id(job_id, BULK_JOB), reason=reason))

    async def has_no_workers(self) -> bool:
        return False
