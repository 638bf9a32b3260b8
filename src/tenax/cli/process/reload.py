"""Starts a worker again when the Python files of its own modules have changed."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from tenax.cli.output import say
from tenax.cli.process.own_files import OwnFiles
from tenax.cli.process.supervise import RELOAD
from tenax.credentials.private_variables import own_variables
from tenax.errors import TenaxError

log = logging.getLogger("tenax.worker")


def watch_own_files() -> OwnFiles:
    """Begins to watch. Call it before modules are imported."""
    # Compiled files are told apart by the second and the size, so a quick change could go unnoticed by the next import.
    sys.dont_write_bytecode = True
    return OwnFiles()


async def run_until_changed(
    run: Callable[[asyncio.Event], Coroutine[Any, Any, None]], asked: asyncio.Event, files: OwnFiles
) -> str | None:
    """Runs a worker until it is asked to stop or a file changes, and lets it drain. Returns the file that has changed."""
    stop = asyncio.Event()
    running = asyncio.create_task(run(stop))
    asking, changing = asyncio.create_task(asked.wait()), asyncio.create_task(files.until_changed())
    try:
        await asyncio.wait({running, asking, changing}, return_when=asyncio.FIRST_COMPLETED)
        file = changing.result() if changing.done() and not asked.is_set() else None
        if file is not None:
            log.info("%s has changed: the worker finishes its attempts and starts again", _shown(file))
        stop.set()
        await running
    finally:
        asking.cancel()
        changing.cancel()
        running.cancel()
    return None if asked.is_set() else file


def wait_until_mended(files: OwnFiles, error: TenaxError) -> None:
    """Says why the modules cannot be imported, and waits until one of their files changes."""
    files.add_failed(error)
    say(f"tenax worker: {error.message}; it starts when the file has changed", stream=sys.stderr)
    say(f"tenax worker: {_shown(files.wait())} has changed", stream=sys.stderr)


def start_again(*, supervised: bool) -> int:
    """Replaces this process by the same command. A supervisor does that itself, at the exit code that this returns."""
    if not supervised:
        sys.stdout.flush()
        sys.stderr.flush()
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], own_variables())  # noqa: S606 -- itself
    return RELOAD


def _shown(file: str) -> str:
    """Returns the path of a file as it is seen from the working folder."""
    path, here = Path(file), Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
