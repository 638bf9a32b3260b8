"""Start executions, and list them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from tenax.cli.backend.opening import open_backend
from tenax.cli.backend.protocol import Wanted, check_id, nobody_to_run, run_async
from tenax.cli.flags import ANYWHERE, Inputs, Json, Where
from tenax.cli.input.inputs import STDIN, parse_inputs, read_definition
from tenax.cli.input.key_conflict import known_key
from tenax.cli.output import new_table, one_line, print_json, printable, say, to_the_second
from tenax.cli.output import show as show_
from tenax.errors import UsageError
from tenax.model import durations
from tenax.model.parse.findings import shorten
from tenax.model.wire import Submission, Submitted
from tenax.settings import Settings

Status = Literal["running", "paused", "completed", "failed", "cancelled"]
Compensation = Literal["running", "completed", "failed", "cancelled"]
MOST_LISTED = 500


def submit(
    file: Annotated[str, Parameter(help="The workflow file; - is stdin.")],
    /,
    *,
    inputs: Inputs = (),
    input_file: Annotated[str | None, Parameter(help="A JSON object of inputs; - is stdin.")] = None,
    key: Annotated[str | None, Parameter(help="A unique key: the same key is the same execution.")] = None,
    json: Json = False,
    where: Where = ANYWHERE,
) -> None:
    """Start an execution of a workflow file, and return at once.

    It runs as soon as there is a server with a worker (`tenax up`); `tenax run` does everything by itself.
    """
    from tenax.sdk.bundle import submission_of

    if file == input_file == STDIN:
        raise UsageError("stdin can be the workflow or the inputs, not both")
    given = parse_inputs(inputs, input_file)
    submission = submission_of(read_definition(file), input=given, key=key)
    settings = where.settings()
    if not settings.server:
        _check_first(submission, settings)
    submitted, words = run_async(_submitted(where, settings, submission))
    if not json:
        say(words)
        return
    if not submitted.created:
        say(words, stream=sys.stderr)
    print_json({"id": submitted.id, "created": submitted.created})


def _check_first(submission: Submission, settings: Settings) -> None:
    """A file that is wrong is refused before a database is started for it. A server checks by its own defaults."""
    from tenax.cli.commands.definitions import check_whole
    from tenax.cli.input.policies import default_retry
    from tenax.model.parse.parse import check_input

    server_retry = default_retry(settings)
    workflow, _ = check_whole(
        submission.source or "", submission.filename or "", submission.files, server_retry
    )
    check_input(workflow, submission.input)


async def _submitted(where: Where, settings: Settings, submission: Submission) -> tuple[Submitted, str]:
    """The answer, and what there is to say about it."""
    async with open_backend(settings) as backend:
        submitted = await backend.submit(submission)
        number = submitted.id
        if not submitted.created:
            execution = await backend.get(number)
            return submitted, known_key(submission, execution, then="nothing new was started")
        nobody = await nobody_to_run(backend, number, where)
    follow = where.command("show", number, "--follow")
    lines = [f"execution {number} is submitted", f"follow it: {follow}"]
    return submitted, "\n  ".join([*lines, *([nobody] if nobody else ())])


def list_(
    *,
    status: Annotated[tuple[Status, ...], Parameter(help="Only with this status. Repeatable.")] = (),
    workflow: Annotated[str | None, Parameter(help="Only of the workflow of this name.")] = None,
    since: Annotated[
        str | None,
        Parameter(help="Only those started since: a duration back from now (2h) or a time (RFC 3339)."),
    ] = None,
    before: Annotated[int | None, Parameter(help="Only those with a smaller number: the next page.")] = None,
    limit: Annotated[int, Parameter(help=f"At most so many, up to {MOST_LISTED}. [50]")] = 50,
    top: Annotated[bool, Parameter(help="Leave out children: what other executions started.")] = False,
    compensation: Annotated[
        Compensation | None,
        Parameter(help="Only those whose compensations stand so: failed is for a person."),
    ] = None,
    json: Json = False,
    where: Where = ANYWHERE,
) -> None:
    """List executions, the newest first."""
    if not 1 <= limit <= MOST_LISTED:
        raise UsageError(f"--limit {limit}: expected a number from 1 to {MOST_LISTED}")
    if before is not None:
        check_id(before)
    wanted = Wanted(status, workflow, parse_since(since), before, limit, top, compensation)
    found = run_async(_listed(where, wanted))
    if json:
        print_json(found)
    elif found:
        show_(_list_table(found))
    else:
        say("no executions")


async def _listed(where: Where, wanted: Wanted) -> list[dict[str, Any]]:
    async with open_backend(where.settings()) as backend:
        return await backend.list(wanted)


def parse_since(text: str | None) -> datetime | None:
    """A time, or a duration that is counted back from now."""
    if text is None:
        return None
    try:
        return durations.parse_since(text, datetime.now(UTC))
    except ValueError:
        raise UsageError(
            f"--since {shorten(text)}: expected a duration such as 2h or 1d, or a time such as 2026-01-31T12:00:00Z"
        ) from None


def _list_table(found: Sequence[dict[str, Any]]) -> Any:
    from rich.text import Text

    from tenax.cli.render.styles import STYLES

    table = new_table("id", "workflow", "status", "started", "now", "last error", right=("id",))
    for row in found:
        waiting, failure = row["waiting"] or {}, row["failure"] or {}
        workflow = Text(one_line(row["workflow"]))
        if row.get("parent"):
            workflow.append(f" (child of {row['parent']})", style="dim")
        status = Text(row["status"], style=STYLES.get(row["status"], ""))
        if row.get("compensation"):
            status.append(f" (compensation {row['compensation']})", style=STYLES.get(row["compensation"], ""))
        error = one_line(failure.get("message") or waiting.get("last_error") or "", 100)
        doing = _doing(waiting) if waiting else ""
        started = Text(to_the_second(row["created_at"]))
        table.add_row(Text(str(row["id"])), workflow, status, started, Text(doing), Text(error))
    return table


def _doing(item: dict[str, Any]) -> str:
    """What a work item is at, or waits for."""
    from tenax.cli.render.event_lines import attempt_of, waiting_words

    if awaiting := item.get("awaiting"):
        words = waiting_words({**awaiting, "deadline_at": None}, child=awaiting.get("child"))
        return printable(f"{item['step']}: {words}")
    which = "" if item.get("item") is None else f"[{item['item']}]"
    doing = f"{item['step']}{which} {item['state']}"
    if item.get("compensates"):
        waits = "" if item["state"] == "running" else f" ({item['state']})"
        doing = f"undoing {item['step']}{waits}"
    if item["attempt"]:
        counted = item["counted"] + (item["state"] == "running")
        doing += f", attempt {attempt_of(item['attempt'], item['max_attempts'], counted)}"
    return f"{doing}{_in_its_way(item)}"


def _in_its_way(item: dict[str, Any]) -> str:
    """Behind what an item is at: why it does not go on."""
    from tenax.cli.render.why_blocked import poison_words

    if item["state"] == "held" and item.get("lost_by"):
        return f": {poison_words(item['lost_by'])}"
    why = item.get("unserved") or item.get("limited")
    return f": {one_line(why['reason'])}" if why else ""
