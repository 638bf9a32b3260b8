"""Runs work whose length depends on what others have sent, in processes that can be killed.

A check that takes too long costs one process and never the event loop. Each process is started when it is first needed, and ends with the
server. It sees no secrets and no database (`tenax.engine.definitions.reader_process`).
"""

from __future__ import annotations

import asyncio
import os
import pickle
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import structlog

from tenax.engine.definitions.sender_turns import SenderTurns
from tenax.errors import InvalidDefinition, TenaxError

WAIT_FACTOR = 10.0
"""The server waits this many times the processor time that a task may take, since the machine may be busy."""
START_LIMIT = 60.0
"""Seconds within which a new process must be ready. A machine under load is slow to import modules."""
_KEPT_VARIABLES = ("PATH", "PYTHONPATH", "PYTHONHOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "HOME")
_COUNT = struct.Struct("!Q")
_log = structlog.get_logger("tenax.reader_processes")


class ReaderProcessFailed(Exception):
    """Says that the task failed for a reason of its own: a bug, or data that this version cannot read."""


class TaskNotDone(Exception):
    """Says that the task was not done within its bounds. Each subclass names one bound."""


class TookTooLong(TaskNotDone):
    """Says that the time of the task was over, or that the server is stopping."""


class OutOfMemory(TaskNotDone):
    """Says that the task needed more memory than its process may use. Some failed allocations end the process."""


class TooDeep(TaskNotDone):
    """Says that the data is nested too deeply to be read."""


_BOUNDS = {b"too large": OutOfMemory, b"too deep": TooDeep}


class ReaderProcesses:
    """Runs tasks in a few processes. A task that finds all of them busy waits for one, and its sender for its turn."""

    def __init__(self, processes: int, memory: int) -> None:
        """`memory` is the number of bytes that each process may use."""
        self._memory = memory
        self._threads = ThreadPoolExecutor(processes, thread_name_prefix="tenax-reader")
        self._turns = SenderTurns(processes)
        self._lock = threading.Lock()
        self._idle: list[_Process] = []
        self._all: set[_Process] = set()
        self._closed = False

    async def run(self, task: str, *arguments: Any, seconds: float) -> list[bytes]:
        """Runs a task of `tenax.engine.definitions.reader_process`, and returns its answer in pickled parts. Raises
        TookTooLong after that many seconds of processor time, another TaskNotDone at another bound, and the TenaxError
        that the task raises."""
        request = pickle.dumps((task, arguments, seconds))
        loop = asyncio.get_running_loop()
        async with self._turns.turn():
            answer = await loop.run_in_executor(self._threads, self._run, request, seconds)
        how, *parts = answer
        if how == b"done":
            return parts
        if how in _BOUNDS:
            raise _BOUNDS[how]
        raise _error(how, pickle.loads(parts[0]))  # noqa: S301 -- our own process wrote it

    def close(self) -> None:
        """Ends the processes. Tasks that still wait for one get TookTooLong."""
        with self._lock:
            self._closed = True
            processes = list(self._all)
        for process in processes:
            process.kill()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _run(self, request: bytes, seconds: float) -> list[bytes]:
        """Runs a task. This is called in a thread of its own, which waits for the process without holding the
        interpreter lock."""
        process = self._take()
        try:
            answer = process.exchange(request, seconds)
        except (TimeoutError, OSError) as error:
            _log.warning(
                "a task in a reader process was ended",
                seconds=seconds,
                error=str(error) or type(error).__name__,
            )
            self._end(process)
            by_time = isinstance(error, TimeoutError) or process.ended_by_time or self._closed
            raise (TookTooLong if by_time else OutOfMemory) from None
        if answer[0] in _BOUNDS:  # the process has little memory left, or its memory is fragmented
            self._end(process)
        else:
            with self._lock:
                self._idle.append(process)
        return answer

    def _end(self, process: _Process) -> None:
        process.kill()
        with self._lock:
            self._all.discard(process)

    def _take(self) -> _Process:
        with self._lock:
            if self._closed:
                raise TookTooLong
            if self._idle:
                return self._idle.pop()
            process = _Process(self._memory)
            self._all.add(process)
            return process


def _error(how: bytes, answer: Any) -> Exception:
    if how == b"invalid definition":
        return InvalidDefinition(answer)
    if how == b"error":
        kind, message, remedy = answer
        error: TenaxError = kind(message, remedy=remedy)
        return error
    return ReaderProcessFailed(answer)


class _Process:
    """Is one process with the pipes to it."""

    def __init__(self, memory: int) -> None:
        # -P: a module in the working folder must not be imported in place of one of ours.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "tenax.engine.definitions.reader_process", str(memory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ},
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests, self._answers = self._process.stdin, self._process.stdout
        self._ready = False

    def exchange(self, request: bytes, seconds: float) -> list[bytes]:
        """Sends a request and reads its answer. After a TimeoutError or an OSError the process cannot
        be used any more."""
        if not self._ready:
            self._read(1, time.monotonic() + START_LIMIT)
            self._ready = True
        until = time.monotonic() + seconds * WAIT_FACTOR
        self._requests.write(_COUNT.pack(len(request)) + request)
        self._requests.flush()
        [parts] = _COUNT.unpack(self._read(_COUNT.size, until))
        return [self._read(_COUNT.unpack(self._read(_COUNT.size, until))[0], until) for _ in range(parts)]

    @property
    def ended_by_time(self) -> bool:
        """Returns whether the system ended the process at its limit of processor time. The process has been killed by
        now."""
        return self._process.returncode == -signal.SIGPROF

    def kill(self) -> None:
        self._process.poll()
        self._process.kill()
        self._process.wait()
        self._requests.raw.close()  # type: ignore[attr-defined]  # without the flush, which would fail
        self._answers.close()

    def _read(self, size: int, until: float) -> bytes:
        parts: list[bytes] = []
        ready = select.poll()
        ready.register(self._answers, select.POLLIN)
        while size:
            if not ready.poll(max(0.0, until - time.monotonic()) * 1000):
                raise TimeoutError("it took too long")
            part = os.read(self._answers.fileno(), min(size, 1 << 20))
            if not part:
                raise OSError("its process has ended")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)
