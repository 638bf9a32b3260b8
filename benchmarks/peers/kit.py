"""Holds the code that the scripts of all peers share. It runs under each peer's own Python, with only the standard library.

A script is called as

    fill KIND JOBS     makes the schema and enqueues the jobs: `noop`, `fails` (twice) or `scheduled`, if it has this kind
    work KIND          works until SIGTERM, and then prints what it ran
    watch             waits until no job is open, and prints when that was and how many jobs succeeded
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from benchmarks.gate import wait_at_gate

DELAY = 1
"""Seconds from a failure to the next attempt."""
FAILURES = 2
URL = os.environ.get("TENAX_DATABASE_URL", "")
_POLL_SECONDS = 0.05
"""Seconds between two polls, as in the bench for Tenax."""

Fill = Callable[[str, int], None]
Work = Callable[[str, "Record"], None]
Look = Callable[[], tuple[bool, int]]
"""Returns whether any job is open, and how many have succeeded."""
Watcher = Callable[[], Look]
"""Makes the connection and returns the function that reads through it."""


class NotYet(Exception):
    """Is the error with which a job fails."""


class Record:
    """Records what one worker process ran: the job of every start, and how late each retry was."""

    def __init__(self) -> None:
        self.first: float | None = None
        self.last: float | None = None
        self.jobs: list[int | str] = []
        self.late: list[float] = []

    def started(self, job: int | str, due: float | None = None) -> None:
        now = time.time()
        if self.first is None:
            self.first = now
        self.last = now
        self.jobs.append(job)
        if due is not None:
            self.late.append(round(now - due, 6))

    def attempted(self, job: int | str, failures: int, due: float | None) -> None:
        """Records an attempt of a job of the kind `fails` after `failures` failures."""
        self.started(job, due if failures else None)
        if failures < FAILURES:
            raise NotYet("not yet")


def run(fill: Fill, work: Work, watcher: Watcher, kinds: Sequence[str]) -> None:
    parser = argparse.ArgumentParser()
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb in ("fill", "work"):
        verbs.add_parser(verb).add_argument("kind", choices=kinds)
    verbs.choices["fill"].add_argument("jobs", type=int)
    verbs.add_parser("watch")
    options = parser.parse_args()
    if options.verb == "fill":
        fill(options.kind, options.jobs)
        _say_and_end({"filled": options.jobs})
    if options.verb == "watch":
        _watch(watcher())
    record = Record()
    signal.signal(signal.SIGTERM, lambda *_: _say_and_end(vars(record)))
    work(options.kind, record)


def _watch(look: Look) -> NoReturn:
    wait_at_gate()
    while True:
        now = time.time()
        is_open, succeeded = look()
        if not is_open:
            _say_and_end({"ended": now, "succeeded": succeeded})
        time.sleep(_POLL_SECONDS)


def _say_and_end(words: dict[str, Any]) -> NoReturn:
    """Writes the last line of the output and ends the process at once, since nothing is left to close.

    The signal may have interrupted a write to stdout, which must not be entered a second time.
    """
    with contextlib.suppress(RuntimeError):
        sys.stdout.flush()
    with open(sys.stdout.fileno(), "w", closefd=False) as out:
        out.write(f"\n{json.dumps(words)}\n")
    os._exit(0)
