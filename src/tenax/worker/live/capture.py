"""Gives what handlers print and log to their attempts. The attempt is known by its context, in threads and in the event loop."""

from __future__ import annotations

import codecs
import logging
import sys
from collections.abc import Iterable
from typing import Any, TextIO

from tenax.sdk.context import CURRENT, TaskContext

_OWN = "tenax."
_OF_TASKS = "tenax.task"


class Tee:
    """Stands in the place of stdout or stderr. It passes everything on, and gives the attempt its part."""

    def __init__(self, stream: TextIO, number: int) -> None:
        self._stream = stream
        self._number = number
        self.is_open = True
        """False once another one has taken its place."""

    def write(self, text: str) -> int:
        written = self._stream.write(text)
        if self.is_open and (context := CURRENT.get(None)) is not None:
            context.write(text, self._number)
        return written

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    @property
    def passed_to(self) -> TextIO:
        return self._stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class ProcessOutput:
    """Gives what a process prints to its attempt. Characters may arrive in pieces."""

    def __init__(self, context: TaskContext) -> None:
        self._context = context
        decoder = codecs.getincrementaldecoder("utf-8")
        self._decoders = {1: decoder("replace"), 2: decoder("replace")}

    def __call__(self, stream: int, data: bytes) -> None:
        self._context.write(self._decoders[stream].decode(data), stream)


class _AttemptLog(logging.Handler):
    """Gives the records that a handler logs to its attempt."""

    def emit(self, record: logging.LogRecord) -> None:
        context = CURRENT.get(None)
        if context is None or (record.name.startswith(_OWN) and record.name != _OF_TASKS):
            return
        if any(isinstance(getattr(other, "stream", None), Tee) for other in logging.getLogger().handlers):
            return  # that handler prints it, and what is printed is kept
        try:
            context.write(f"{self.format(record)}\n", 2)
        except Exception:  # noqa: BLE001 - as in every handler of logging, a wrong record must not fail its attempt
            self.handleError(record)


class Capture:
    """Captures for as long as it is open. Several workers of one process share one."""

    def __init__(self) -> None:
        self._users = 0
        self._stdout: Tee | None = None
        self._stderr: Tee | None = None
        self._log = _AttemptLog()
        self._log.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))

    def open(self) -> None:
        self._users += 1
        if self._users == 1:
            logging.getLogger().addHandler(self._log)
        self.renew()

    def renew(self) -> None:
        """Takes the place of streams that others have put in the place of these, such as a live table."""
        if sys.stdout is not self._stdout:
            self._stdout = sys.stdout = _replaced(self._stdout, sys.stdout, 1)
        if sys.stderr is not self._stderr:
            self._stderr = sys.stderr = _replaced(self._stderr, sys.stderr, 2)

    @property
    def is_in_place(self) -> bool:
        return sys.stdout is self._stdout and sys.stderr is self._stderr

    def close(self) -> None:
        self._users -= 1
        if self._users:
            return
        logging.getLogger().removeHandler(self._log)
        for name, tee in (("stdout", self._stdout), ("stderr", self._stderr)):
            if tee is not None:
                tee.is_open = False
                if getattr(sys, name) is tee:
                    setattr(sys, name, tee.passed_to)
        self._stdout = self._stderr = None


def _replaced(before: Tee | None, stream: TextIO, number: int) -> Tee:
    if before is not None:
        before.is_open = False
    return Tee(stream, number)


CAPTURE = Capture()
"""The capture of this process."""
