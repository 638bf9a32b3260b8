"""Prints a diagnosis: one sentence, what happens next, what a person can do, and the evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tenax.cli.flags import TargetFlags, worker_command
from tenax.drawing.text_lines import one_line, printable
from tenax.model.definition.workflow import DEFAULT_QUEUE

DOORS_SHOWN = 10
_LONGEST = 600
"""Characters of a line of evidence."""


def diagnosis_lines(found: Mapping[str, Any], where: TargetFlags) -> Iterator[str]:
    """Yields the lines of a diagnosis. Commands have the server and the database of the command that prints them."""
    yield printable(found["sentence"])
    if found["next"]:
        yield printable(found["next"])
    if found["remedies"]:
        yield "What you can do:"
        yield from (f"  {_remedy(one, where)}" for one in found["remedies"])
    others = found["doors"][1:]
    if others:
        yield "Also closed:"
        yield from (f"  {_line(door['subject'])}: {_line(door['reason'])}" for door in others[:DOORS_SHOWN])
        if len(others) > DOORS_SHOWN:
            yield f"  and {len(others) - DOORS_SHOWN:,} more"
    if found["evidence"]:
        yield "Evidence:"
        yield from (f"  {_line(line)}" for line in found["evidence"])


def _remedy(remedy: Mapping[str, Any], where: TargetFlags) -> str:
    command = remedy["command"]
    if not command:
        return _line(remedy["words"])
    if command == ["worker", "--queue", DEFAULT_QUEUE] and not where.settings().server:
        return f"start a server with workers: {where.command('up')}"
    if command[0] == "worker":  # it takes no database
        return f"{_line(remedy['words'])}: {worker_command(where, *command[1:])}"
    return f"{_line(remedy['words'])}: {where.command(*command)}"


def _line(text: str) -> str:
    return one_line(text, _LONGEST)
