"""Carries what a task in a process of its own tells: from its context to the context in the worker, through two pipes.

The process writes a line for each note to the pipe of its usage. If it flushes a checkpoint, it waits for a byte on the other pipe.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Awaitable
from typing import Any

import msgspec

from tenax.errors import UsageError
from tenax.sdk.context import TaskContext
from tenax.sdk.outcomes import Cancelled
from tenax.sdk.tasks.told import DONE, read_progress
from tenax.worker.handlers.json_values import checkpoint_json
from tenax.worker.processes.usage_pipe import VARIABLE, UsagePipe

ANSWERS = "TENAX_FLUSHED_FD"
"""The environment variable that names the file descriptor of the answers."""
_KEPT, _REVOKED = b"1", b"0"
_EXPANSION = 6
"""The most bytes of a byte of a text within JSON."""


class ChildNotes:
    """Is the worker's end. It passes the notes of the process on to the context of the attempt."""

    def __init__(self, context: TaskContext) -> None:
        self._context = context
        self._pipe = UsagePipe(context.note_usage, self._take, more=_EXPANSION * context.max_checkpoint)
        self._answers, self._answer_to = os.pipe()
        self._flushes: set[asyncio.Future[None]] = set()

    @property
    def variables(self) -> dict[str, str]:
        return {VARIABLE: str(self._pipe.fd), ANSWERS: str(self._answers)}

    @property
    def fds(self) -> tuple[int, int]:
        """The file descriptors that the process inherits."""
        return self._pipe.fd, self._answers

    def close(self) -> None:
        self._pipe.close()
        os.close(self._answers)
        os.close(self._answer_to)
        for flush in self._flushes:
            flush.cancel()

    def _take(self, note: dict[str, Any]) -> None:
        match note:
            case {"checkpoint": str(value), "flush": bool(flush)}:
                sent = self._context.note_checkpoint(value, flush=flush)
                if flush:
                    answering = asyncio.ensure_future(self._answer(sent))
                    self._flushes.add(answering)
                    answering.add_done_callback(self._flushes.discard)
            case {"fraction": fraction, "message": message}:
                with contextlib.suppress(UsageError, TypeError):  # the process can write anything at all
                    self._context.note_progress(read_progress(fraction, message))

    async def _answer(self, sent: Awaitable[None]) -> None:
        try:
            await sent
        except Cancelled:
            os.write(self._answer_to, _REVOKED)
        else:
            os.write(self._answer_to, _KEPT)


class ChildChannel:
    """Is the channel of the context within the process."""

    def __init__(self, max_checkpoint: int) -> None:
        self.max_checkpoint = max_checkpoint
        self._lock = threading.Lock()
        self._flush_lock = threading.Lock()
        self._sent: tuple[object, object, object] = (None, None, None)

    def encode(self, value: Any) -> str:
        return checkpoint_json(value, self.max_checkpoint)

    def tell(self, context: TaskContext) -> None:
        """Writes what is new: the usage, the checkpoint, the progress."""
        live = context.live
        with self._lock:
            before, self._sent = self._sent, (live.usage, live.checkpoint, live.progress)
            if live.usage is not None and live.usage is not before[0]:
                _write(live.usage)
            if live.checkpoint is not None and live.checkpoint is not before[1]:
                _write({"checkpoint": live.checkpoint.value, "flush": False})
            if live.progress is not None and live.progress is not before[2]:
                _write(live.progress._asdict())

    def flush(self, context: TaskContext) -> Awaitable[None]:
        checkpoint = context.live.checkpoint
        assert checkpoint is not None
        with self._lock:
            self._sent = (self._sent[0], checkpoint, self._sent[2])
            _write({"checkpoint": checkpoint.value, "flush": True})
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            self._wait()
            return DONE
        return asyncio.to_thread(self._wait)

    def write(self, context: TaskContext, text: str, stream: int) -> None:
        """Does nothing: the worker reads stdout and stderr of the process."""

    def _wait(self) -> None:
        with self._flush_lock:
            answer = os.read(int(os.environ[ANSWERS]), 1)
        if answer != _KEPT:
            raise Cancelled("the lease of the attempt was revoked, so its checkpoint was not kept")


def _write(note: Any) -> None:
    data = memoryview(msgspec.json.encode(note) + b"\n")
    while data:
        data = data[os.write(int(os.environ[VARIABLE]), data) :]
