"""Makes a submission from the name of a workflow file, or of a stored workflow, and reads when it starts."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tenax.cli.flags import TargetFlags
from tenax.cli.input.inputs import STDIN, read_definition
from tenax.errors import NotFound, UsageError
from tenax.model.durations import parse_duration
from tenax.model.names import is_workflow_name
from tenax.model.schedule.moments import read_moment
from tenax.model.wire import Submission

_FILE_ENDINGS = (".yaml", ".yml", ".json")


def submission_for(name: str, given: Mapping[str, Any], key: str | None) -> Submission:
    """Returns the submission of a file, or of the stored workflow `NAME` or `NAME@VERSION` if there is no such file."""
    from tenax.sdk.bundle import submission_of

    if is_stored_name(name):
        return Submission(workflow=name, input=dict(given), key=key)
    return submission_of(read_definition(name), input=given, key=key)


def schedule_notice(submission: Submission, where: TargetFlags) -> list[str]:
    """Returns a line that says what becomes of the schedule of a file that is only submitted, if it declares one."""
    if submission.source is None or "schedule" not in submission.source:
        return []
    from tenax.model.parse.parse import parse_workflow

    if parse_workflow(submission.source, filename=submission.filename).schedule is None:
        return []
    store = where.command("store", submission.filename or "FILE")
    return [f"its schedule applies only once the file is stored: {store}"]


def is_stored_name(name: str) -> bool:
    """Returns whether a name means a stored workflow: it is no file, and does not look like one."""
    if name == STDIN or name.endswith(_FILE_ENDINGS) or not is_workflow_name(name.partition("@")[0]):
        return False
    try:
        return not Path(name).exists()
    except OSError:
        return False


@contextlib.contextmanager
def both_searches_named(submission: Submission) -> Iterator[None]:
    """Adds to the error for an unknown name that there is neither a file nor a stored workflow of this name."""
    try:
        yield
    except NotFound as error:
        name = submission.workflow
        if name is None or repr(name.partition("@")[0]) not in error.message:
            raise
        raise NotFound(f"{name}: there is no such file, and {error.message}", remedy=error.remedy) from None


def read_start(at: str | None, after: str | None) -> tuple[datetime | None, float | None]:
    """Reads `--at` and `--in`: the time at which an execution starts, or the seconds until then."""
    if at is not None and after is not None:
        raise UsageError("--at and --in exclude each other: keep one")
    try:
        start = read_moment(at, UTC) if at is not None else None
    except ValueError:
        raise UsageError(
            f"--at {at}: expected a time",
            remedy="such as --at 2030-01-31T09:30 (in UTC) or --at 2030-01-31T10:30+01:00",
        ) from None
    try:
        return start, parse_duration(after) if after is not None else None
    except ValueError as error:
        raise UsageError(f"--in: {error}") from None
