"""Makes, starts, stops and resumes bulk jobs. The leading server works on them (`runner`)."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tenax.engine.bulk.actions import ACTIONS, REDRIVE
from tenax.engine.context import EngineContext
from tenax.engine.operate.operator_action import ActionRequest, check_action
from tenax.engine.operate.rescheduled_policy import check_policy
from tenax.engine.views.selection import expand
from tenax.errors import Conflict, NotFound, UsageError
from tenax.model.events import event
from tenax.model.events.data import OperatorData
from tenax.model.events.types import OperatorAction
from tenax.model.filters.letters import LetterFilter
from tenax.model.filters.parse import parse_filter, parse_letter_filter
from tenax.model.filters.terms import Filter
from tenax.model.filters.views import BulkJob
from tenax.model.source.findings import shorten, suggest_or_list
from tenax.store.connect import Connection
from tenax.store.fleet.workers import log_action
from tenax.store.selection import bulk_jobs
from tenax.store.selection.bulk_jobs import NewJob
from tenax.store.selection.conditions import anchor

SAMPLE = 10  # executions that a job shows
PROBLEMS = 20  # skipped and failed executions that a job shows
MAX_CANARY = 10_000  # executions of a canary
MIN_RATE, MAX_RATE = 1 / 86_400, 100_000.0  # executions in a second


class BulkJobs:
    """Keeps the bulk jobs. Each method is one transaction."""

    def __init__(self, context: EngineContext, wake: Callable[[], None]) -> None:
        """`wake` is called when a job may go on."""
        self._context = context
        self._wake = wake

    async def create(
        self,
        action: str,
        chosen: Filter,
        *,
        reason: str,
        actor: str,
        rate: float | None = None,
        canary: int | None = None,
        max_failed: float | None = None,
        step: str | None = None,
        result: Any = None,
        has_result: bool = False,
        policy: Mapping[str, Any] | None = None,
    ) -> BulkJob:
        """Makes a job and finds its executions, which stay the same from now on. Nothing is done until it is started.

        `result` is for the action `complete`, and `policy` for `reschedule`.
        """
        check_action_name(action)
        if action == REDRIVE:
            raise UsageError("redrive is for dead letters", remedy="select them by `redrive_letters`")
        if not chosen:
            raise _empty()
        _check_reason(reason)
        check_action(ActionRequest(action, step, None, reason, result, has_result, policy))
        if policy is not None:
            check_policy(policy)
        new = _new_job(action, reason, actor, rate, canary, max_failed)
        new = replace(new, step=step, result=result, has_result=has_result, policy=policy)
        async with self._context.view() as tx:
            fixed = await anchor(tx, await expand(tx, chosen))
            job_id = await bulk_jobs.insert_job(tx, replace(new, filter=str(fixed)), fixed)
            return await _known(tx, job_id)

    async def create_of_text(
        self,
        action: str,
        text: str,
        *,
        step: str | None = None,
        result: Any = None,
        has_result: bool = False,
        policy: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> BulkJob:
        """Makes a job from the text of its filter, which selects dead letters if the action is `redrive`."""
        check_action_name(action)
        if action != REDRIVE:
            return await self.create(
                action, parse_filter(text), step=step, result=result, has_result=has_result, policy=policy, **more
            )  # fmt: skip
        if step is not None or has_result or policy is not None:
            raise UsageError(
                "redrive takes no `step`, `result` or `policy`", remedy="write step=NAME into the filter"
            )
        return await self.redrive_letters(LetterFilter(terms=parse_letter_filter(text)), **more)

    async def redrive_letters(
        self,
        wanted: LetterFilter,
        *,
        reason: str,
        actor: str,
        rate: float | None = None,
        canary: int | None = None,
        max_failed: float | None = None,
    ) -> BulkJob:
        """Makes a job that redrives dead letters, and finds them. They stay the same from now on."""
        if wanted.is_empty:
            raise _empty()
        _check_reason(reason)
        new = _new_job(REDRIVE, reason, actor, rate, canary, max_failed)
        async with self._context.view() as tx:
            fixed = LetterFilter(terms=await anchor(tx, wanted.whole))
            job_id = await bulk_jobs.insert_letter_job(tx, replace(new, filter=str(fixed.terms)), fixed)
            return await _known(tx, job_id)

    async def get(self, job_id: int) -> BulkJob:
        async with self._context.view() as tx:
            return await _known(tx, job_id)

    async def list(self, *, limit: int = 50) -> builtins.list[BulkJob]:
        async with self._context.view() as tx:
            return await bulk_jobs.list_jobs(tx, limit)

    async def start(self, job_id: int, *, actor: str) -> BulkJob:
        """Starts a job. Starting a running job again changes nothing."""
        return await self._change(job_id, "start", actor, self._start)

    async def stop(self, job_id: int, *, actor: str, reason: str | None = None) -> BulkJob:
        """Stops a running job. No execution is acted on after this has returned."""
        return await self._change(job_id, "stop", actor, self._stop, reason)

    async def resume(self, job_id: int, *, actor: str, reason: str | None = None) -> BulkJob:
        """Continues a stopped job with the executions that are left. A canary that failed is overruled."""
        return await self._change(job_id, "resume", actor, self._resume, reason)

    async def _change(
        self, job_id: int, verb: str, actor: str, change: Callable[..., Any], reason: str | None = None
    ) -> BulkJob:
        async with self._context.transaction() as tx:
            row = await bulk_jobs.lock_job(tx, job_id)
            if row is None:
                raise _no_job(job_id)
            if await change(tx, row, actor, reason):
                data = OperatorData(
                    action=f"bulk_{verb}", actor=actor, reason=reason or row["reason"], bulk=job_id
                )
                await log_action(
                    tx, event(OperatorAction, data=data),
                    does=row["action"], filter=row["filter"], executions=row["total"],
                )  # fmt: skip
            job = await _known(tx, job_id)
        self._wake()
        return job

    async def _start(self, tx: Connection, row: Mapping[str, Any], actor: str, _: str | None) -> bool:
        if row["state"] == "running":
            return False
        if row["state"] != "preview":
            raise Conflict(
                f"bulk job {row['id']} is {row['state']}: only a preview can be started",
                remedy="`tenax bulk resume` continues a stopped job" if row["state"] == "stopped" else None,
            )
        await bulk_jobs.change_job(
            tx, row["id"], "running", canary_state=row["canary_state"], started_by=actor
        )
        return True

    async def _stop(self, tx: Connection, row: Mapping[str, Any], actor: str, reason: str | None) -> bool:
        if row["state"] == "stopped":
            return False
        if row["state"] != "running":
            raise Conflict(f"bulk job {row['id']} is {row['state']}: there is nothing to stop")
        why = f": {reason}" if reason else ""
        note = f"stopped by {actor}{why}"
        await bulk_jobs.change_job(tx, row["id"], "stopped", note=note, canary_state=row["canary_state"])
        return True

    async def _resume(self, tx: Connection, row: Mapping[str, Any], actor: str, _: str | None) -> bool:
        if row["state"] == "running":
            return False
        if row["state"] != "stopped":
            raise Conflict(
                f"bulk job {row['id']} is {row['state']}: only a stopped job can be resumed",
                remedy="`tenax bulk start` starts a preview" if row["state"] == "preview" else None,
            )
        canary = "overruled" if row["canary_state"] == "failed" else row["canary_state"]
        await bulk_jobs.change_job(tx, row["id"], "running", canary_state=canary, started_by=actor)
        return True


async def _known(tx: Connection, job_id: int) -> BulkJob:
    job = await bulk_jobs.get_job(tx, job_id, sample=SAMPLE, problems=PROBLEMS)
    if job is None:
        raise _no_job(job_id)
    return job


def _no_job(job_id: int) -> NotFound:
    return NotFound(f"there is no bulk job {job_id}", remedy="`tenax bulk list` shows the jobs there are")


def check_action_name(action: str) -> None:
    if action not in ACTIONS:
        raise UsageError(f"there is no bulk action {shorten(repr(action))}{suggest_or_list(action, ACTIONS)}")


def _new_job(
    action: str,
    reason: str,
    actor: str,
    rate: float | None,
    canary: int | None,
    max_failed: float | None,
) -> NewJob:
    _check_pace(action, rate, canary, max_failed)
    if canary is not None and max_failed is None:
        max_failed = 0.0
    return NewJob(
        action=action, filter="", reason=reason.strip(), actor=actor, rate=rate, canary=canary, max_failed=max_failed
    )  # fmt: skip


def _empty() -> UsageError:
    return UsageError(
        "the filter is empty, and would select everything",
        remedy="name what the action is for, such as status=failed workflow=sync since=1d",
    )


def _check_reason(reason: str) -> None:
    if not reason.strip():
        raise UsageError("a bulk action needs a reason, which is recorded", remedy="give one: --reason WHY")


def _check_pace(action: str, rate: float | None, canary: int | None, max_failed: float | None) -> None:
    if rate is not None and not (math.isfinite(rate) and MIN_RATE <= rate <= MAX_RATE):
        raise UsageError(f"`rate` must be from one a day to {MAX_RATE:,.0f} a second, not {rate:g} a second")
    if canary is not None and not 1 <= canary <= MAX_CANARY:
        raise UsageError(f"`canary` must be from 1 to {MAX_CANARY:,}, not {canary}")
    if canary is not None and not ACTIONS[action].ends:
        raise UsageError(f"a canary waits for the end of executions, and `{action}` leads to none")
    if max_failed is not None and canary is None:
        raise UsageError("`max_failed` is the percentage of a canary that may fail: give a `canary` as well")
    if max_failed is not None and not 0 <= max_failed <= 100:
        raise UsageError(f"`max_failed` must be from 0 to 100 percent, not {max_failed:g}")
