"""Defines what a command speaks to: a server over HTTP, or the database itself. Commands see no difference."""

from __future__ import annotations

import asyncio
import getpass
import os
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from tenax.errors import UsageError

if TYPE_CHECKING:
    from tenax.cli.flags import TargetFlags
    from tenax.engine.operate.operator_action import ActionRequest
    from tenax.model.events.audit import AuditFilter
    from tenax.model.execution_views import Event, News
    from tenax.model.filters.letters import LetterFilter
    from tenax.model.fleet.queue_limits import QueueLimits
    from tenax.model.metrics.figures import By
    from tenax.model.wire import Submission, Submitted

T = TypeVar("T")

MAX_ID = 2**63 - 1
EXECUTION = ("an execution", "`tenax list` shows the executions there are")
LETTER = ("a dead letter", "`tenax dead-letters list` shows the dead letters there are")
BULK_JOB = ("a bulk job", "`tenax bulk list` shows the bulk jobs there are")


@dataclass(frozen=True, slots=True)
class ListFilter:
    """Selects the executions of a list."""

    states: Sequence[str]
    workflow: str | None
    since: datetime | None
    before: int | None
    limit: int
    top: bool
    compensation: str | None = None
    filter: str = ""
    """The text of a filter. The other fields are short forms of terms."""


@dataclass(frozen=True, slots=True)
class BulkWish:
    """Says what a bulk job does, to which executions, why, and how fast."""

    action: str
    text: str
    """The filter: of dead letters if they are redriven, else of executions."""
    reason: str
    rate: float | None
    canary: int | None
    max_failed: float | None
    step: str | None = None
    result: Any = None
    has_result: bool = False
    policy: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class OutputFilter:
    """Selects output: of a step, of an item and of an attempt, each if it is not None."""

    step: str | None = None
    item: int | None = None
    attempt: int | None = None


class Backend(Protocol):
    """Offers the operations that commands need."""

    async def submit(self, submission: Submission) -> Submitted: ...

    async def submit_many(self, submissions: Sequence[Submission]) -> Sequence[Submitted]:
        """Submits all of them or none."""
        ...

    async def find_faults(self, submissions: Sequence[Submission]) -> Sequence[tuple[int, str]]:
        """Checks submissions and starts nothing. Returns the place and the error of each wrong one."""
        ...

    async def get(self, execution_id: int) -> dict[str, Any]: ...

    async def list(self, wanted: ListFilter) -> list[dict[str, Any]]: ...

    async def events(self, execution_id: int, *, after: int = 0) -> Sequence[Event]: ...

    async def news(self, execution_id: int, *, cursor: str | None = None, wait: float = 0.0) -> News: ...

    async def explain(
        self, execution_id: int, *, step: str | None, attempt: int | None, item: int | None = None
    ) -> Sequence[dict[str, Any]]: ...

    async def diagnose(self, execution_id: int, *, step: str | None, item: int | None) -> dict[str, Any]:
        """Explains why an execution, a step or an item is in its state."""
        ...

    async def diagnose_worker(self, name: str) -> dict[str, Any]: ...

    async def diagnose_queue(self, name: str) -> dict[str, Any]: ...

    async def items(
        self, execution_id: int, step: str, *, states: Sequence[str], after: int, limit: int
    ) -> Sequence[dict[str, Any]]:
        """Lists the items of a fan-out in the order of its list."""
        ...

    async def progress(self, execution_id: int) -> Sequence[dict[str, Any]]:
        """Returns how far the running steps are."""
        ...

    async def output(self, execution_id: int, wanted: OutputFilter, *, after: int) -> dict[str, Any]:
        """Returns a page of what attempts have printed."""
        ...

    async def verify(self, execution_id: int | None, *, after: int, since: datetime | None) -> dict[str, Any]:
        """Checks the next executions with an id above `after`, or only the named one."""
        ...

    async def tree(self, execution_id: int) -> dict[str, Any]:
        """Returns an execution with all executions below it."""
        ...

    async def signal(
        self, execution_id: int, name: str, *, data: Any, key: str | None, reason: str | None
    ) -> dict[str, Any]: ...

    async def decide_approval(
        self, execution_id: int, step: str, *, approved: bool, item: int | None, reason: str | None
    ) -> dict[str, Any]: ...

    async def pause(self, execution_id: int, *, reason: str | None) -> bool:
        """Pauses an execution. Returns False if it was paused already."""
        ...

    async def resume(self, execution_id: int, *, reason: str | None) -> bool:
        """Resumes an execution. Returns False if it was running already."""
        ...

    async def dead_letters(
        self, wanted: LetterFilter, *, before: int | None, limit: int
    ) -> Sequence[dict[str, Any]]:
        """Lists dead letters, the newest failure first."""
        ...

    async def dead_letter_groups(self, wanted: LetterFilter, *, limit: int) -> Sequence[dict[str, Any]]: ...

    async def dead_letter(self, letter_id: int) -> dict[str, Any]: ...

    async def redrive(self, ids: Sequence[int], *, reason: str | None) -> dict[str, Any]: ...

    async def discard(self, ids: Sequence[int], wanted: LetterFilter | None, *, note: str) -> dict[str, Any]:
        """Discards the letters with these ids, or the open ones that fit the filter."""
        ...

    async def store_workflow(
        self, source: str, *, filename: str, files: Mapping[str, str]
    ) -> dict[str, Any]: ...

    async def workflows(self, name: str | None) -> Sequence[dict[str, Any]]: ...

    async def install_pack(self, archive: bytes, *, folder: str) -> dict[str, Any]: ...

    async def packs(self) -> Sequence[dict[str, Any]]: ...

    async def pack(self, name: str) -> dict[str, Any]: ...

    async def remove_pack(self, name: str) -> dict[str, Any]: ...

    async def actions(self, pack: str | None) -> Sequence[dict[str, Any]]: ...

    async def action(self, ref: str) -> dict[str, Any]: ...

    async def run_action(self, ref: str, params: Mapping[str, Any]) -> int:
        """Starts an execution of an action, and returns its number."""
        ...

    async def cancel(self, execution_id: int, *, reason: str | None) -> bool:
        """Cancels an execution. Returns False if it was cancelled already."""
        ...

    async def run_anew(
        self,
        execution_id: int,
        *,
        inputs: Mapping[str, Any] | None,
        reason: str | None,
    ) -> dict[str, Any]:
        """Runs all of a finished execution again, as a new one."""
        ...

    async def act(self, execution_id: int, asked: ActionRequest) -> dict[str, Any]:
        """Acts on an execution, a step or an item."""
        ...

    async def workers(self, *, all: bool = False) -> Sequence[dict[str, Any]]:  # noqa: A002 -- the flag's name
        """Lists the live workers. `all` includes the workers that are gone."""
        ...

    async def worker(self, name: str) -> dict[str, Any]: ...

    async def pause_worker(self, name: str, *, reason: str | None) -> bool:
        """Pauses a worker. This and the next two methods return False if nothing changed."""
        ...

    async def drain_worker(self, name: str, *, reason: str | None) -> bool: ...

    async def resume_worker(self, name: str, *, reason: str | None) -> bool: ...

    async def release_worker(self, name: str, *, reason: str | None) -> bool:
        """Frees a worker's name. Returns False if the name belonged to no token."""
        ...

    async def queues(self) -> Sequence[dict[str, Any]]: ...

    async def limit_queue(self, queue: str, limits: QueueLimits, *, reason: str | None) -> dict[str, Any]:
        """Replaces the limits of a queue."""
        ...

    async def pause_queue(self, queue: str, *, reason: str | None) -> bool:
        """Pauses a queue. This and the next three methods return False if nothing changed."""
        ...

    async def resume_queue(self, queue: str, *, reason: str | None) -> bool: ...

    async def pause_workflow(self, name: str, *, reason: str | None) -> bool: ...

    async def resume_workflow(self, name: str, *, reason: str | None) -> bool: ...

    async def alerts(self) -> dict[str, Any]: ...

    async def overview(self) -> dict[str, Any]:
        """Returns what `tenax top` shows."""
        ...

    async def stats(self, *, by: By, since: datetime | None, until: datetime | None) -> dict[str, Any]: ...

    async def audit(self, wanted: AuditFilter, *, before: int | None, limit: int) -> Sequence[dict[str, Any]]:
        """Lists what people did, the newest first."""
        ...

    async def filters(self) -> Sequence[dict[str, Any]]:
        """Lists the filters that were saved by name."""
        ...

    async def save_filter(self, name: str, text: str) -> dict[str, Any]: ...

    async def remove_filter(self, name: str) -> dict[str, Any]: ...

    async def schedules(self) -> Sequence[dict[str, Any]]: ...

    async def schedule(self, name: str) -> dict[str, Any]: ...

    async def next_ticks(self, name: str, most: int) -> Sequence[str]: ...

    async def create_schedule(
        self, name: str, schedule: Mapping[str, Any], *, workflow: str
    ) -> dict[str, Any]: ...

    async def pause_schedule(self, name: str, *, reason: str | None) -> bool: ...

    async def resume_schedule(self, name: str, *, reason: str | None) -> bool: ...

    async def run_schedule(self, name: str, *, reason: str | None) -> int:
        """Starts an execution of a schedule now. Returns its id."""
        ...

    async def delete_schedule(self, name: str) -> dict[str, Any]: ...

    async def create_bulk_job(self, wish: BulkWish) -> dict[str, Any]:
        """Makes a bulk job as a preview."""
        ...

    async def bulk_jobs(self) -> Sequence[dict[str, Any]]: ...

    async def bulk_job(self, job_id: int) -> dict[str, Any]: ...

    async def start_bulk_job(self, job_id: int) -> dict[str, Any]: ...

    async def stop_bulk_job(self, job_id: int, *, reason: str | None) -> dict[str, Any]: ...

    async def resume_bulk_job(self, job_id: int, *, reason: str | None) -> dict[str, Any]: ...

    async def has_no_workers(self) -> bool:
        """Returns True if it is known that no worker is alive. Over HTTP this is not known."""
        ...


async def no_worker_warning(backend: Backend, execution_id: int, where: TargetFlags) -> str | None:
    """Returns a warning if no worker will run an execution, else None."""
    if not await backend.has_no_workers():
        return None
    here = where.command("run", "--resume", execution_id)
    return f"no worker is alive: start `{where.command('up')}`, or run it here: {here}"


async def start_warning(backend: Backend, execution_id: int, where: TargetFlags) -> str | None:
    """Returns a warning if a new execution does not start: its workflow is paused, or no worker is alive. Else None."""
    execution = await backend.get(execution_id)
    if (
        execution["status"] != "paused" or execution["starts_at"]
    ):  # a delayed one is paused until its time comes
        return await no_worker_warning(backend, execution_id, where)
    resume = where.command("workflows", "resume", execution["workflow"])
    return f"it begins paused, because its workflow is paused; let that go on: {resume}"


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Runs the work of a command to its end. Ctrl-C cancels the work and raises KeyboardInterrupt."""
    return asyncio.run(work)


def check_id(number: int, kind: tuple[str, str] = EXECUTION) -> int:
    """Checks the number of an execution, or of something else."""
    what, remedy = kind
    if not 0 < number <= MAX_ID:
        raise UsageError(f"{number} cannot be the number of {what}", remedy=remedy)
    return number


def user_name() -> str:
    """Returns the name of the user, which is recorded as the actor."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # the uid has no name, as in some containers
        return f"uid {os.getuid()}"
