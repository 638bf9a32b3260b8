"""Submits executions."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated

import msgspec
from cyclopts import Parameter

from tenax.cli.backend.opening import open_backend
from tenax.cli.backend.protocol import run_async, start_warning
from tenax.cli.commands.executions.submit_many import submit_lines
from tenax.cli.flags import DEFAULT_TARGET, Inputs, Json, TargetFlags
from tenax.cli.input.inputs import STDIN, parse_inputs
from tenax.cli.input.key_conflict import key_conflict_text
from tenax.cli.input.submissions import both_searches_named, read_start, schedule_notice, submission_for
from tenax.cli.lint.warn import say_warnings
from tenax.cli.output import print_json, say
from tenax.drawing.text_lines import to_the_second
from tenax.errors import UsageError
from tenax.model.wire import Submission, Submitted
from tenax.settings import Settings


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class StartFlags:
    """Says when an execution starts."""

    at: Annotated[
        str | None, Parameter(help="When it starts, such as 2030-01-31T09:30Z; in UTC if it names no zone.")
    ] = None
    in_: Annotated[str | None, Parameter(name="--in", help="Start it after this time, such as 10m.")] = None

    def delay(self, submission: Submission) -> Submission:
        """Returns the submission with this start."""
        start_at, start_in = read_start(self.at, self.in_)
        return msgspec.structs.replace(submission, start_at=start_at, start_in=start_in)


NOW = StartFlags()


def submit(
    workflow: Annotated[
        str | None,
        Parameter(name="WORKFLOW", help="A workflow file, or the name of a stored workflow; - is stdin."),
    ] = None,
    /,
    *,
    inputs: Inputs = (),
    input_file: Annotated[
        str | None, Parameter(help="A JSON file with an object of inputs; - is stdin.")
    ] = None,
    key: Annotated[
        str | None, Parameter(help="A unique key: a second submission with it starts nothing new.")
    ] = None,
    many: Annotated[
        str | None,
        Parameter(
            help="A file with a submission on each line: a JSON object with `workflow`, `input` and `key`; - is stdin."
        ),
    ] = None,
    start: StartFlags = NOW,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Start an execution of a workflow file or of a stored workflow, and return at once.

    The execution runs as soon as there is a server with a worker (`tenax up`). `tenax run` needs neither.
    """
    from tenax.cli.input.check_definition import check_submission
    from tenax.cli.input.policies import default_retry
    from tenax.policy.lint.lint import lint_text

    if [workflow, input_file, many].count(STDIN) > 1:
        raise UsageError("stdin can be only one of the workflow, the inputs and the lines")
    if many is not None:
        if inputs or input_file or key:
            raise UsageError("with --many, each line has its own input and key: leave out --input and --key")
        if start != NOW:
            raise UsageError("with --many, all executions start now: leave out --at and --in")
        submit_lines(workflow, many, where, json=json)
        return
    if workflow is None:
        raise UsageError("which workflow?", remedy="tenax submit FILE, or tenax submit NAME")
    submission = start.delay(submission_for(workflow, parse_inputs(inputs, input_file), key))
    settings = where.settings()
    check_submission(submission, settings)
    if submission.source is not None and not json:
        say_warnings(
            lint_text(submission.source, filename=submission.filename, server_retry=default_retry(settings))
        )
    with both_searches_named(submission):
        submitted, words = run_async(_submitted(where, settings, submission))
    if not json:
        say(words)
        return
    if not submitted.created:
        say(words, stream=sys.stderr)
    print_json({"id": submitted.id, "created": submitted.created})


def _is_delayed(submission: Submission) -> bool:
    return submission.start_at is not None or submission.start_in is not None


async def _submitted(where: TargetFlags, settings: Settings, submission: Submission) -> tuple[Submitted, str]:
    """Submits. Returns the answer, and the text to print."""
    async with open_backend(settings) as backend:
        submitted = await backend.submit(submission)
        number = submitted.id
        if not submitted.created:
            execution = await backend.get(number)
            return submitted, key_conflict_text(submission, execution, then="nothing new was started")
        warning = await start_warning(backend, number, where)
        starts_at = (await backend.get(number)).get("starts_at") if _is_delayed(submission) else None
    follow = where.command("show", number, "--follow")
    starts = f" and starts at {to_the_second(starts_at)}" if starts_at else ""
    lines = [
        f"execution {number} is submitted{starts}",
        f"follow it: {follow}",
        *schedule_notice(submission, where),
    ]
    return submitted, "\n  ".join([*lines, *([warning] if warning else ())])
