"""Submits the lines of a file: all of them are checked first, then they are sent in batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tenax.cli.backend.opening import open_backend
from tenax.cli.backend.protocol import Backend, run_async
from tenax.cli.flags import TargetFlags
from tenax.cli.input.many import Line, batches, read_lines, refuse_lines
from tenax.cli.input.submissions import submission_for
from tenax.cli.output import print_json, say
from tenax.errors import TenaxError
from tenax.model.wire import Submitted

Sent = list[tuple[Line, Submitted]]


def submit_lines(workflow: str | None, file: str, where: TargetFlags, *, json: bool) -> None:
    """Submits the lines of a file. `workflow` is a file or a name for the lines that name none."""
    default = None if workflow is None else submission_for(workflow, {}, None)
    lines = read_lines(file, default)
    sent = run_async(_submitted(where, file, lines))
    if json:
        print_json(_document(sent))
    else:
        say(_words(sent, where))


async def _submitted(where: TargetFlags, file: str, lines: Sequence[Line]) -> Sent:
    sent: Sent = []
    async with open_backend(where.settings()) as backend:
        await _check(backend, file, lines)
        for batch in batches(lines):
            try:
                answers = await backend.submit_many([line.submission for line in batch])
            except TenaxError as error:
                raise _at_line(error, batch, sent, lines) from error
            sent += zip(batch, answers, strict=True)
    return sent


async def _check(backend: Backend, file: str, lines: Sequence[Line]) -> None:
    faults: list[tuple[int, str]] = []
    for batch in batches(lines):
        found = await backend.find_faults([line.submission for line in batch])
        faults += [(batch[place].number, message) for place, message in found]
    refuse_lines(file, faults)


def _at_line(error: TenaxError, batch: Sequence[Line], sent: Sent, lines: Sequence[Line]) -> TenaxError:
    """Returns the error of a batch with the lines that were submitted before it, and how to go on."""
    first, last = batch[0].number, batch[-1].number
    done = f"{len(sent):,} submissions before them are in" if sent else "none before them was sent"
    error.args = (f"lines {first:,} to {last:,}: {error.message}; {done}",)
    error.message = error.args[0]
    if all(line.submission.key is not None for line in lines):
        error.remedy = "run the same command again: lines whose key is known start nothing new"
    else:
        error.remedy = (
            f"send the lines from {first:,} on again; lines without a `key` would start twice otherwise"
        )
    return error


def _document(sent: Sent) -> dict[str, Any]:
    created = sum(one.created for _, one in sent)
    executions = [{"line": line.number, "id": one.id, "created": one.created} for line, one in sent]
    return {"submitted": len(sent), "created": created, "executions": executions}


def _words(sent: Sent, where: TargetFlags) -> str:
    created = sum(one.created for _, one in sent)
    words = f"{len(sent):,} submission{'s' if len(sent) != 1 else ''}: {created:,} new"
    if known := len(sent) - created:
        words += f", {known:,} known already by their keys"
    return f"{words}\n  look at them: {where.command('list')}"
