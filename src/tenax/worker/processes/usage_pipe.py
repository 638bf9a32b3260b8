"""Reads the usage that a running program reports: JSON lines on a file descriptor, each with the sums of the attempt so far."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import orjson

from tenax.model.attempt.outcome import Usage
from tenax.model.attempt.usage import read_usage

VARIABLE = "TENAX_USAGE_FD"
"""The environment variable that names the file descriptor."""
_LONGEST_LINE = 65_536
"""Bytes of a line. A longer line is dropped."""
_AT_ONCE = 65_536
"""Bytes that are read together."""
_LAST_READS = 16
"""Reads when the pipe is closed. A pipe holds less, unless a process that outlives the attempt goes on writing."""


class UsagePipe:
    """Is a pipe from a program to this process. Lines that do not report usage are ignored, because they must not fail the
    attempt."""

    def __init__(
        self,
        on_usage: Callable[[Usage], None],
        on_note: Callable[[dict[str, Any]], None] = lambda _: None,
        *,
        more: int = 0,
    ) -> None:
        """`on_note` is called with the other objects that it writes. A line of them may be this much longer."""
        self._on_usage = on_usage
        self._on_note = on_note
        self._longest = _LONGEST_LINE + more
        self._rest = b""
        self._source, self.fd = os.pipe()
        """`fd` is the end that the program inherits."""
        os.set_blocking(self._source, False)
        asyncio.get_running_loop().add_reader(self._source, self._read)

    def close(self) -> None:
        """Reads what is left in the pipe, and closes it. A process that outlives the attempt is not waited for."""
        asyncio.get_running_loop().remove_reader(self._source)
        os.close(self.fd)
        for _ in range(_LAST_READS):
            if not self._read():
                break
        os.close(self._source)

    def _read(self) -> bool:
        """Reads what is there. Returns whether there was something."""
        data = b""
        with suppress(BlockingIOError):
            data = os.read(self._source, _AT_ONCE)
        *lines, rest = (self._rest + data).split(b"\n")
        self._rest = rest if len(rest) <= self._longest else b""
        for line in lines:
            stated = _object_of(line)
            if (usage := _usage_of(stated)) is not None:
                self._on_usage(usage)
            elif stated is not None:
                self._on_note(stated)
        return bool(data)


def _object_of(line: bytes) -> dict[str, Any] | None:
    try:
        stated: Any = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return stated if isinstance(stated, dict) else None


def _usage_of(stated: dict[str, Any] | None) -> Usage | None:
    usage = read_usage(stated)
    return None if usage == Usage() else usage
