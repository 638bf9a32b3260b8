"""Prints bulk jobs: a list of them, and one with its progress."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from tenax.cli.flags import TargetFlags
from tenax.cli.render.styles import STYLES
from tenax.cli.render.table import Column, RankedTable
from tenax.drawing.text_lines import one_line, printable, to_the_second
from tenax.model.fleet.queue_limits import rate_words

Job = Mapping[str, Any]

_STATE_STYLES = {**STYLES, "preview": "dim", "stopped": "magenta"}
_JOBS = (
    Column("id", right=True),
    Column("action", rank=5, least=8),
    Column("state"),
    Column("done", right=True),
    Column("skipped", rank=4, right=True),
    Column("failed", rank=6, right=True),
    Column("made", rank=1),
    Column("by", rank=2, least=8),
    Column("reason", rank=3, least=16),
)
_SAMPLE = (
    Column("id", right=True),
    Column("workflow", rank=2, least=12),
    Column("status"),
    Column("class", rank=1, least=8),
    Column("reason", rank=3, least=10),
)
_LETTERS = (
    Column("letter", right=True),
    Column("execution", right=True, rank=3),
    Column("workflow", rank=1, least=12),
    Column("item", rank=4),
    Column("class", rank=2, least=8),
    Column("reason", rank=5, least=10),
)
_PROBLEMS = (Column("id", right=True), Column("became"), Column("why", rank=1, least=20, wrapped=True))


def job_table(found: Sequence[Job]) -> RenderableType:
    return RankedTable(_JOBS, [_row(job) for job in found])


def _row(job: Job) -> list[Text]:
    counts = job["counts"]
    cells = (
        f"{counts['done']:,} of {job['total']:,}",
        f"{counts['skipped']:,}",
        f"{counts['failed']:,}",
        to_the_second(job["created_at"]),
        one_line(job["actor"]),
        one_line(job["reason"]),
    )
    state = Text(job["state"], style=_STATE_STYLES.get(job["state"], ""))
    return [Text(str(job["id"])), Text(job["action"]), state, *map(Text, cells)]


def begun_words(job: Job, where: TargetFlags) -> str:
    """Returns what to say of a job that has just begun. A server that runs carries it out."""
    show, stop = where.command("bulk", "show", job["id"]), where.command("bulk", "stop", job["id"])
    return (
        f"bulk job {job['id']} has begun: {_what(job)}\n"
        f"  the servers carry it out; see how far it is: {show}\n  stop it: {stop}"
    )


def render_job(job: Job, where: TargetFlags) -> RenderableType:
    """Returns a job with its progress, and what can be done next."""
    head = Text.assemble(
        (f"bulk job {job['id']}", "bold"),
        f": {_what(job)}  ",
        (job["state"], _STATE_STYLES.get(job["state"], "")),
    )
    parts: list[RenderableType] = [head, *(Text(f"  {line}") for line in _facts(job))]
    if job["problems"]:
        rows = [
            (str(one["letter"] or one["id"]), one["state"], one_line(one["note"] or ""))
            for one in job["problems"]
        ]
        parts += ["", Text("not acted on:", style="bold"), RankedTable(_PROBLEMS, rows)]
    if job["state"] == "preview" and job["sample"]:
        sample = _letters if job["action"] == "redrive" else _sample
        parts += ["", Text(f"the first of {job['total']:,}:", style="bold"), sample(job["sample"])]
    parts += [Text(printable(line), style="yellow") for line in _next_steps(job, where)]
    return Group(*parts)


def _sample(found: Sequence[Mapping[str, Any]]) -> RenderableType:
    rows = [
        (
            str(one["id"]),
            one_line(one["workflow"]),
            Text(one["status"], style=STYLES.get(one["status"], "")),
            one_line(one["class"] or ""),
            one_line(one["reason"] or ""),
        )
        for one in found
    ]
    return RankedTable(_SAMPLE, rows)


def _letters(found: Sequence[Mapping[str, Any]]) -> RenderableType:
    rows = [
        (
            str(one["letter"]),
            str(one["id"]),
            one_line(one["workflow"]),
            one_line(one["step"] or "" if one["item"] is None else f"{one['step']} item {one['item']}"),
            one_line(one["class"] or ""),
            one_line(one["reason"] or ""),
        )
        for one in found
    ]
    return RankedTable(_LETTERS, rows)


def _things(job: Job) -> str:
    return "dead letter" if job["action"] == "redrive" else "execution"


def _what(job: Job) -> str:
    return f"{job['action']} {job['total']:,} {_things(job)}{'s' if job['total'] != 1 else ''}"


def _facts(job: Job) -> Iterator[str]:
    """Yields the lines that describe a job."""
    counts = job["counts"]
    yield f"filter: {one_line(job['filter'], 1000)}"
    if job["step"] is not None:
        yield f"step: {one_line(job['step'])}"
    if job["action"] == "complete":
        yield f"result: {one_line(job['result'], 1000)}"
    if job["policy"] is not None:
        yield f"policy: {one_line(job['policy'], 1000)}"
    yield f"reason: {one_line(job['reason'], 1000)}"
    yield f"made by {one_line(job['actor'])} at {to_the_second(job['created_at'])}"
    if job["started_at"]:
        yield f"started by {one_line(job['started_by'])}, first at {to_the_second(job['started_at'])}"
        yield (
            f"progress: {counts['done']:,} done, {counts['skipped']:,} skipped, {counts['failed']:,} failed, "
            f"{counts['pending']:,} pending"
        )
    if job["rate"] is not None:
        yield f"rate: {rate_words(job['rate'])}"
    if job["canary"] is not None:
        yield f"canary: the first {job['canary']:,}, of which {job['max_failed']:g} % may fail: {_CANARY[job['canary_state']]}"
    if job["finished_at"]:
        yield f"completed at {to_the_second(job['finished_at'])}"
    if job["note"]:
        yield one_line(job["note"], 1000)


_CANARY = {
    "open": "not decided yet",
    "passed": "passed",
    "failed": "failed",
    "overruled": "failed, and a person resumed the job",
}


def _next_steps(job: Job, where: TargetFlags) -> Iterator[str]:
    match job["state"]:
        case "preview" if job["total"]:
            yield f"start it: {where.command('bulk', 'start', job['id'])}"
        case "preview":
            yield f"the filter selects no {_things(job)}: there is nothing to start"
        case "running":
            yield f"stop it: {where.command('bulk', 'stop', job['id'])}"
        case "stopped":
            yield f"continue it: {where.command('bulk', 'resume', job['id'])}"
        case _:
            return
