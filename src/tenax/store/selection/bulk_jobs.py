"""Reads and writes bulk jobs: their rows, the executions that they act on, and their progress."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tenax.errors import UsageError
from tenax.model.events import timestamp
from tenax.model.filters.letters import LetterFilter
from tenax.model.filters.terms import Filter
from tenax.model.filters.views import BulkCounts, BulkJob, BulkProblem, BulkSample
from tenax.model.json_text import decode, encode
from tenax.store.connect import Connection
from tenax.store.selection.conditions import letter_conditions, limited_in_time, with_conditions
from tenax.store.statements import sql

MAX_EXECUTIONS = 200_000  # executions or dead letters of one job


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """Describes a job to store."""

    action: str
    filter: str
    reason: str
    actor: str
    rate: float | None
    canary: int | None
    max_failed: float | None
    step: str | None = None
    result: Any = None
    """The result that `complete` gives."""
    has_result: bool = False
    policy: Mapping[str, Any] | None = None
    """The fields of the policy that `reschedule` gives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningJob:
    """Describes a job that the leading server works on."""

    id: int
    action: str
    filter: str
    reason: str
    started_by: str
    canary: int | None
    max_failed: float | None
    canary_state: str | None
    step: str | None
    result: str | None
    """The result that `complete` gives, as JSON text."""
    policy: str | None
    """The fields of the policy that `reschedule` gives, as JSON text."""
    allowed: int
    """Actions that the rate allows now."""


@dataclass(frozen=True, slots=True)
class BulkItem:
    n: int
    execution_id: int
    letter_id: int | None
    """The dead letter that is to be redriven."""


@dataclass(frozen=True, slots=True)
class CanaryCounts:
    """Counts the first executions or dead letters of a job: all that were acted on, those that have settled, and those that
    failed."""

    acted: int
    settled: int
    failed: int


async def insert_job(tx: Connection, job: NewJob, chosen: Filter) -> int:
    """Stores a job with the executions that its filter selects now. Returns its id.

    Raises UsageError if there are too many, or if it takes too long.
    """
    job_id = await _insert(tx, job)
    statement, arguments = with_conditions(sql("freeze_executions"), chosen, job_id, MAX_EXECUTIONS)
    await _freeze(tx, statement, arguments, "executions")
    return job_id


async def insert_letter_job(tx: Connection, job: NewJob, wanted: LetterFilter) -> int:
    """Stores a job with the dead letters that its filter selects now, as `insert_job` does it with executions."""
    job_id = await _insert(tx, job)
    statement, arguments = with_conditions(
        sql("freeze_letters"), wanted.conditions, job_id, MAX_EXECUTIONS, list(wanted.all_statuses),
        conditions=letter_conditions(),
    )  # fmt: skip
    await _freeze(tx, statement, arguments, "dead letters")
    return job_id


async def _insert(tx: Connection, job: NewJob) -> int:
    job_id: int = await tx.fetchval(
        sql("insert_bulk_job"), job.action, job.filter, job.reason, job.actor, job.rate, job.canary, job.max_failed,
        job.step, encode(job.result) if job.has_result else None, None if job.policy is None else encode(job.policy),
    )  # fmt: skip
    return job_id


async def _freeze(tx: Connection, statement: str, arguments: Sequence[Any], what: str) -> None:
    async with limited_in_time(tx):
        total: int = await tx.fetchval(statement, *arguments)
    if total > MAX_EXECUTIONS:
        raise UsageError(
            f"the filter selects more than {MAX_EXECUTIONS:,} {what}, which is too much for one job",
            remedy="narrow it, for example by `since` and `until`, and make several jobs",
        )


async def get_job(tx: Connection, job_id: int, *, sample: int, problems: int) -> BulkJob | None:
    """Returns a job with its first executions, and the first ones that were skipped or failed."""
    row = await tx.fetchrow(sql("load_bulk_jobs"), job_id, 1)
    if row is None:
        return None
    samples = [_sample(one) for one in await tx.fetch(sql("sample_bulk_items"), job_id, sample)]
    wrong = [BulkProblem(**one) for one in await tx.fetch(sql("list_bulk_problems"), job_id, problems)]
    return _job(row, samples, wrong)


async def list_jobs(tx: Connection, limit: int) -> list[BulkJob]:
    """Lists jobs, the newest first, without their executions."""
    return [_job(row, [], []) for row in await tx.fetch(sql("load_bulk_jobs"), None, limit)]


async def lock_job(tx: Connection, job_id: int) -> Mapping[str, Any] | None:
    row: Mapping[str, Any] | None = await tx.fetchrow(sql("lock_bulk_job"), job_id)
    return row


async def change_job(
    tx: Connection,
    job_id: int,
    state: str,
    *,
    note: str | None = None,
    canary_state: str | None = None,
    started_by: str | None = None,
) -> None:
    await tx.execute(sql("change_bulk_job"), job_id, state, note, canary_state, started_by)


async def find_running_jobs(tx: Connection, at_once: int) -> list[RunningJob]:
    """Returns the running jobs, each with the number of actions that its rate allows now, at most `at_once`."""
    return [RunningJob(**row) for row in await tx.fetch(sql("find_running_bulk_jobs"), at_once)]


async def next_items(tx: Connection, job_id: int, most: int) -> list[BulkItem]:
    return [BulkItem(**row) for row in await tx.fetch(sql("next_bulk_items"), job_id, most)]


async def find_matching(tx: Connection, ids: Sequence[int], chosen: Filter) -> set[int]:
    """Returns those of these executions that a filter selects."""
    statement, arguments = with_conditions(sql("find_matching"), chosen, list(ids))
    async with limited_in_time(tx):
        return {row["id"] for row in await tx.fetch(statement, *arguments)}


async def mark_done(tx: Connection, job_id: int, items: Sequence[int]) -> bool:
    """Marks items as done. Returns False if the job was stopped, or if not all of them are still pending: the caller must
    not act then."""
    marked: int | None = await tx.fetchval(sql("mark_bulk_item"), job_id, items)
    return marked == len(items)


async def close_items(tx: Connection, job_id: int, state: str, notes: Mapping[int, str]) -> None:
    """Closes items without an action: `skipped` or `failed`, each with the reason."""
    await tx.execute(sql("close_bulk_items"), job_id, state, list(notes), list(notes.values()))


async def look_at_canary(tx: Connection, job_id: int, canary: int, failures: Sequence[str]) -> CanaryCounts:
    """Counts how the canary of a job stands. `failures` are the types of events that record a failure."""
    patterns = [f'%"type":"{type_}"%' for type_ in failures]
    return CanaryCounts(**await tx.fetchrow(sql("look_at_canary"), job_id, canary, patterns))


async def look_at_letters_canary(tx: Connection, job_id: int, canary: int) -> CanaryCounts:
    """Counts how the canary of a job that redrives dead letters stands."""
    return CanaryCounts(**await tx.fetchrow(sql("look_at_letters_canary"), job_id, canary))


async def forget_previews(tx: Connection, seconds: float, most: int) -> None:
    """Forgets previews that nobody started in this time, and of each actor all but the newest `most`."""
    await tx.execute(sql("forget_previews"), seconds, most)


def _sample(row: Mapping[str, Any]) -> BulkSample:
    return BulkSample(
        id=row["id"],
        workflow=row["workflow"],
        status=row["status"],
        class_=row["class"],
        reason=row["reason"],
        letter=row["letter"],
        step=row["step"],
        item=row["item"],
    )


def _job(row: Mapping[str, Any], sample: list[BulkSample], problems: list[BulkProblem]) -> BulkJob:
    return BulkJob(
        id=row["id"],
        action=row["action"],
        state=row["state"],
        filter=row["filter"],
        reason=row["reason"],
        actor=row["actor"],
        started_by=row["started_by"],
        note=row["note"],
        rate=row["rate"],
        canary=row["canary"],
        max_failed=row["max_failed"],
        step=row["step"],
        result=decode(row["result"]),
        policy=decode(row["policy"]),
        canary_state=row["canary_state"],
        total=row["total"],
        counts=BulkCounts(
            pending=row["pending"], done=row["done"], skipped=row["skipped"], failed=row["failed"]
        ),
        created_at=timestamp(row["created_at"]),
        started_at=timestamp(row["started_at"]),
        finished_at=timestamp(row["finished_at"]),
        sample=sample,
        problems=problems,
    )
