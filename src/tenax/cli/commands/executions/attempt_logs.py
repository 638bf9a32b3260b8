"""Prints what the attempts of an execution have printed, and follows it while they run."""

from __future__ import annotations

import asyncio
import json as json_
import sys
from collections.abc import AsyncIterator
from typing import Annotated, Any

from cyclopts import Parameter

from tenax.cli.backend.opening import open_backend
from tenax.cli.backend.protocol import Backend, OutputFilter, run_async
from tenax.cli.flags import DEFAULT_TARGET, ExecutionId, Json, TargetFlags
from tenax.cli.output import print_json, say
from tenax.drawing.progress_words import OutputText, attempt_key, attempt_name
from tenax.drawing.text_lines import printable
from tenax.errors import UsageError

POLL_SECONDS = 1.0
"""Seconds between two looks at an output that is followed."""
LAST_LOOKS = 3
"""Looks after the end of the execution. Its last attempts send the end of their output after their reports."""


def logs(
    execution_id: ExecutionId,
    /,
    *,
    step: Annotated[str | None, Parameter(help="Only this step.")] = None,
    item: Annotated[int | None, Parameter(help="Only this item of a fan-out, from 0.")] = None,
    attempt: Annotated[int | None, Parameter(help="Only this attempt.")] = None,
    follow: Annotated[bool, Parameter(help="Go on until the execution has ended.")] = False,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Print what the attempts of an execution have printed and logged.

    With --json, a document with all chunks, or with --follow a line for each chunk.
    """
    for flag, value, least in (("--item", item, 0), ("--attempt", attempt, 1)):
        if value is not None and value < least:
            raise UsageError(f"{flag} {value}: expected a number from {least}")
    run_async(_print(where, execution_id, OutputFilter(step, item, attempt), follow=follow, json=json))


async def _print(
    where: TargetFlags, execution_id: int, wanted: OutputFilter, *, follow: bool, json: bool
) -> None:
    printer, found = _Printer(), []
    async with open_backend(where.settings(), follow=follow) as backend:
        async for chunk in _chunks(backend, execution_id, wanted, follow=follow):
            if not json:
                printer.print(chunk)
            elif follow:
                print(json_.dumps(chunk, ensure_ascii=False), flush=True)
            else:
                found.append(chunk)
    if json and not follow:
        print_json(found)
    elif not json:
        printer.close()


async def _chunks(
    backend: Backend, execution_id: int, wanted: OutputFilter, *, follow: bool
) -> AsyncIterator[dict[str, Any]]:
    after, looks = 0, 0
    while True:
        page = await backend.output(execution_id, wanted, after=after)
        after = page["cursor"]
        for chunk in page["chunks"]:
            yield chunk
        if page["more"]:
            continue
        looks = looks + 1 if page["finished"] and not page["chunks"] else 0
        if not follow or looks == LAST_LOOKS:
            return
        await asyncio.sleep(POLL_SECONDS)


class _Printer:
    """Prints chunks. A line above them names the attempt, whenever it is another one."""

    def __init__(self) -> None:
        self._text = OutputText()
        self._last: tuple[Any, ...] | None = None
        self._is_in_line = False

    def print(self, chunk: dict[str, Any]) -> None:
        if (key := attempt_key(chunk)) != self._last:
            self.close()
            say(f"== {attempt_name(chunk)} ==")
            self._last = key
        text = printable(self._text.of(chunk))
        sys.stdout.write(text)
        sys.stdout.flush()
        self._is_in_line = not text.endswith("\n")

    def close(self) -> None:
        """Ends an unfinished line."""
        if self._is_in_line:
            say("")
        self._is_in_line = False
