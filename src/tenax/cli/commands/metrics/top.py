"""Shows throughput, retries, queues, workers and failures, and keeps them up to date."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tenax.cli.backend.opening import open_backend
from tenax.cli.backend.protocol import run_async
from tenax.cli.flags import DEFAULT_TARGET, Json, TargetFlags
from tenax.cli.output import console, print_json, printable, show
from tenax.errors import Unreachable, UsageError

if TYPE_CHECKING:
    from rich.live import Live

    from tenax.cli.backend.protocol import Backend

LEAST_SECONDS = 0.2
_END_KEYS = frozenset("qQ\x03\x04")
"""Keys that end the view: q, and Ctrl-C and Ctrl-D where the terminal sends them as keys."""


def top(
    *,
    every: Annotated[float, Parameter(help="Seconds between two pictures. [1]")] = 1.0,
    once: Annotated[bool, Parameter(help="Print one picture, and end.")] = False,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Show throughput, retries, queues, workers and failures live. q or Ctrl-C ends it."""
    if not LEAST_SECONDS <= every <= 3600:
        raise UsageError(f"--every {every:g}: expected seconds from {LEAST_SECONDS:g} to 3600")
    is_live = console().is_terminal and not once and not json
    run_async(_live(where, every) if is_live else _once(where, json=json))


async def _once(where: TargetFlags, *, json: bool) -> None:
    from tenax.cli.render.operators.top import picture

    async with open_backend(where.settings()) as backend:
        found = await backend.overview()
    if json:
        print_json(found)
    else:
        show(*picture(found, console().width))


async def _live(where: TargetFlags, every: float) -> None:
    from rich.live import Live

    from tenax.cli.process.interrupts import Interrupts

    interrupts = Interrupts()
    async with open_backend(where.settings()) as backend:
        screen = Live(console=console(), screen=True, auto_refresh=False)
        with interrupts.caught(), _keys(interrupts.first), screen as live:
            await _redraw(backend, live, every, interrupts.first)


async def _redraw(backend: Backend, live: Live, every: float, ended: asyncio.Event) -> None:
    """Redraws the view until the user ends it. An outage is shown below the last picture. The first reading must succeed."""
    from rich.console import Group, RenderableType
    from rich.text import Text

    from tenax.cli.render.operators.top import picture

    shown: list[RenderableType] = []
    while not ended.is_set():
        away: list[RenderableType] = []
        try:
            shown = picture(await backend.overview(), *live.console.size)
        except Unreachable as error:
            if not shown:
                raise
            away = [Text(printable(f"{error.message}; waiting for it to come back"), style="yellow")]
        live.update(Group(*away, *shown), refresh=True)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(ended.wait(), every)


@contextlib.contextmanager
def _keys(ended: asyncio.Event) -> Iterator[None]:
    """Reads single keys during the block, and sets the event when one of them ends the view."""
    if not sys.stdin.isatty():
        yield
        return
    import termios
    import tty

    stdin, loop = sys.stdin.fileno(), asyncio.get_running_loop()
    before = termios.tcgetattr(stdin)

    def readable() -> None:
        read = os.read(stdin, 64)
        if not read:
            loop.remove_reader(stdin)
        if not read or _END_KEYS.intersection(read.decode(errors="replace")):
            ended.set()

    tty.setcbreak(stdin)
    loop.add_reader(stdin, readable)
    try:
        yield
    finally:
        loop.remove_reader(stdin)
        termios.tcsetattr(stdin, termios.TCSADRAIN, before)
