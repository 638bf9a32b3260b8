"""Acts on all executions or dead letters that a filter selects, and looks after such bulk jobs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

from cyclopts import App, Group, Parameter

from tenax.cli.backend.opening import open_backend
from tenax.cli.backend.protocol import BulkWish, run_async
from tenax.cli.flags import DEFAULT_TARGET, FilterText, Json, TargetFlags
from tenax.cli.input.filters import check_filter, check_letter_filter
from tenax.cli.input.inputs import parse_policy, parse_result
from tenax.cli.input.rates import NO_PACE, PaceFlags
from tenax.cli.output import print_json, say
from tenax.cli.output import show as show_
from tenax.errors import UsageError

bulk = App(name="bulk", help="Act on all executions that a filter selects, or look after such jobs.")

JobId = Annotated[int, Parameter(name="ID", help="The number of a bulk job.")]
Why = Annotated[str | None, Parameter(help="The reason, which is recorded. Required for a new job.")]
_WISH = Group("New jobs", sort_key=80)


@Parameter(name="*", group=_WISH)
@dataclass(frozen=True, slots=True)
class WishFlags:
    """Defines the flags that select the executions of a new job, and those that its action needs."""

    filter: FilterText = ""
    step: Annotated[str | None, Parameter(help="Act on this step of each execution.")] = None
    result: Annotated[
        str | None, Parameter(help="The result that `complete` gives: JSON if it parses, else text.")
    ] = None
    policy: Annotated[
        str | None, Parameter(help="The fields of the policy that `reschedule` changes, as JSON.")
    ] = None

    def wish(self, action: str, reason: str | None, pace: PaceFlags) -> BulkWish:
        if action == "redrive":
            check_letter_filter(self.filter)
        else:
            check_filter(self.filter)
        if not self.filter.strip():
            raise UsageError(
                "a bulk action needs a filter",
                remedy=f"tenax bulk {action} --filter '{_EXAMPLES.get(action, _EXAMPLE)}' --reason WHY",
            )
        return replace(
            new_job(action, self.filter, reason, pace),
            step=self.step,
            result=None if self.result is None else parse_result(self.result),
            has_result=self.result is not None,
            policy=None if self.policy is None else parse_policy(self.policy),
        )


_EXAMPLE = "status=failed workflow=NAME since=1d"
_EXAMPLES = {
    "redrive": "workflow=NAME since=1d",
    "pause": "workflow=NAME",
    "resume": "status=paused workflow=NAME",
}
NO_WISH = WishFlags()


def new_job(action: str, text: str, reason: str | None, pace: PaceFlags) -> BulkWish:
    if reason is None or not reason.strip():
        raise UsageError("a bulk action needs a reason, which is recorded", remedy="give one: --reason WHY")
    return BulkWish(action, text, reason, pace.per_second, pace.canary, pace.max_failed)


@bulk.default
def act(
    action: Annotated[
        str,
        Parameter(
            name="ACTION",
            help="What to do to each execution: cancel, complete, fail, pause, reschedule, reset, resolve, resume or "
            "retry; or to each dead letter: redrive.",
        ),
    ],
    /,
    *,
    wish: WishFlags = NO_WISH,
    pace: PaceFlags = NO_PACE,
    reason: Why = None,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Act on all executions that a filter selects. The servers do it in the background."""
    begin(wish.wish(action, reason, pace), where, preview=pace.preview, json=json)


def begin(wish: BulkWish, where: TargetFlags, *, preview: bool, json: bool) -> None:
    """Makes a job, starts it unless only a preview is wanted, and prints it."""
    job = run_async(_created(where, wish, start=not preview))
    if json:
        print_json(job)
        return
    from tenax.cli.render.operators.bulk_page import begun_words, render_job

    if job["state"] == "preview":
        show_(render_job(job, where))
    else:
        say(begun_words(job, where))


async def _created(where: TargetFlags, wish: BulkWish, *, start: bool) -> dict[str, Any]:
    async with open_backend(where.settings()) as backend:
        job = await backend.create_bulk_job(wish)
        return await backend.start_bulk_job(job["id"]) if start and job["total"] else job


@bulk.command(name="list")
def list_(*, json: Json = False, where: TargetFlags = DEFAULT_TARGET) -> None:
    """List the last 50 bulk jobs, the newest first."""
    found = run_async(_listed(where))
    if json:
        print_json(found)
    elif found:
        from tenax.cli.render.operators.bulk_page import job_table

        show_(job_table(found))
    else:
        say("no bulk jobs")


async def _listed(where: TargetFlags) -> list[dict[str, Any]]:
    async with open_backend(where.settings()) as backend:
        return list(await backend.bulk_jobs())


@bulk.command
def show(job_id: JobId, /, *, json: Json = False, where: TargetFlags = DEFAULT_TARGET) -> None:
    """Show a bulk job: how far it is, its first executions, and what was skipped and why."""
    _show(run_async(_got(where, job_id)), where, json=json)


async def _got(where: TargetFlags, job_id: int) -> dict[str, Any]:
    async with open_backend(where.settings()) as backend:
        return await backend.bulk_job(job_id)


@bulk.command
def start(job_id: JobId, /, *, json: Json = False, where: TargetFlags = DEFAULT_TARGET) -> None:
    """Start a bulk job that was made with --preview."""
    _show(run_async(_started(where, job_id)), where, json=json)


async def _started(where: TargetFlags, job_id: int) -> dict[str, Any]:
    async with open_backend(where.settings()) as backend:
        return await backend.start_bulk_job(job_id)


@bulk.command
def stop(
    job_id: JobId, /, *, reason: Why = None, json: Json = False, where: TargetFlags = DEFAULT_TARGET
) -> None:
    """Stop a bulk job. It acts on no further execution."""
    _show(run_async(_stopped(where, job_id, reason)), where, json=json)


async def _stopped(where: TargetFlags, job_id: int, reason: str | None) -> dict[str, Any]:
    async with open_backend(where.settings()) as backend:
        return await backend.stop_bulk_job(job_id, reason=reason)


@bulk.command
def resume(
    job_id: Annotated[int | None, Parameter(name="ID", help="The number of a stopped bulk job.")] = None,
    /,
    *,
    wish: WishFlags = NO_WISH,
    pace: PaceFlags = NO_PACE,
    reason: Why = None,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Continue a stopped bulk job, even if its canary failed. With --filter, resume all executions that it selects."""
    if job_id is None:
        begin(wish.wish("resume", reason, pace), where, preview=pace.preview, json=json)
        return
    if wish != NO_WISH or pace != NO_PACE:
        raise UsageError(
            "the number of a job and the flags of a new job exclude each other",
            remedy="tenax bulk resume ID, or tenax bulk resume --filter FILTER --reason WHY",
        )
    _show(run_async(_resumed(where, job_id, reason)), where, json=json)


async def _resumed(where: TargetFlags, job_id: int, reason: str | None) -> dict[str, Any]:
    async with open_backend(where.settings()) as backend:
        return await backend.resume_bulk_job(job_id, reason=reason)


def _show(job: dict[str, Any], where: TargetFlags, *, json: bool) -> None:
    if json:
        print_json(job)
        return
    from tenax.cli.render.operators.bulk_page import render_job

    show_(render_job(job, where))
