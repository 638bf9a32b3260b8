"""Sends the notes of running attempts: checkpoints, progress and output. Attempts that tell nothing cost nothing here.

Notes are sent in the order in which attempts have told something, one request after the other, and at most about once a second. A
report never waits for them, with one exception: a failed attempt first gives the server its last checkpoint.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
import threading
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Any

from tenax.errors import TenaxError
from tenax.model.wire import AttemptNotes, HeldCheckpoint, HeldProgress, OutputPart, RegistrationAnswer
from tenax.sdk.context import TaskContext
from tenax.sdk.outcomes import Cancelled
from tenax.sdk.tasks.told import DONE, AttemptProgress, Checkpoint
from tenax.worker.handlers.json_values import checkpoint_json
from tenax.worker.handlers.secrets import Secrets
from tenax.worker.link import Link, LinkDown
from tenax.worker.live.output import OutputBuffer
from tenax.worker.transport import Transport

PAUSE_SECONDS = 0.5
"""Seconds between two requests, unless a checkpoint must be sent at once."""
LAST_SECONDS = 30.0
"""Seconds for which a failed attempt tries to give the server its last checkpoint."""
MOST_ATTEMPTS = 200
"""Attempts in one request."""
MOST_BYTES = 1_000_000
"""Bytes of checkpoints and output in one request, unless a single one is larger."""
MOST_UNSENT = 16_000_000
"""Bytes of output of ended attempts that wait for the server. Beyond it, the output of the first of them is dropped."""

log = logging.getLogger("tenax.worker")


@dataclass(slots=True, eq=False)
class _Attempt:
    """Is what the sender knows of one attempt."""

    context: TaskContext
    is_over: bool = False
    checkpoint: Checkpoint | None = None
    """The checkpoint that the server has, and the progress."""
    progress: AttemptProgress | None = None
    output: OutputBuffer | None = None
    waiting: list[concurrent.futures.Future[None]] = field(default_factory=list)
    """The calls that wait until the checkpoint is sent."""


class NoteSender:
    """Is the channel of a worker's attempts, and sends what comes through it."""

    def __init__(self, worker: str, transport: Transport, link: Link, secrets: Secrets) -> None:
        self._worker = worker
        self._transport = transport
        self._link = link
        self._secrets = secrets
        self._terms = RegistrationAnswer(lease=0, heartbeat=0)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()
        self._known: dict[TaskContext, _Attempt] = {}
        self._changed: dict[_Attempt, None] = {}
        """The attempts that have something to send, in the order in which they told it."""
        self._unsent = 0
        """Bytes of output of ended attempts."""
        self._has_notes = asyncio.Event()
        self._is_urgent = asyncio.Event()
        self._is_empty = asyncio.Event()
        self._is_empty.set()

    def take_terms(self, terms: RegistrationAnswer) -> None:
        """Takes in how much the server keeps."""
        self._terms = terms

    # -- called by attempts, from any thread

    @property
    def max_checkpoint(self) -> int:
        return self._terms.max_checkpoint

    def encode(self, value: Any) -> str:
        return checkpoint_json(value, self._terms.max_checkpoint)

    def tell(self, context: TaskContext) -> None:
        if self._terms.max_checkpoint:
            self._note(context)

    def flush(self, context: TaskContext) -> Awaitable[None]:
        if not self._terms.max_checkpoint:
            return DONE
        sent: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._note(context, sent)
        if _is_in_loop():
            return asyncio.wrap_future(sent)
        sent.result()
        return DONE

    def write(self, context: TaskContext, text: str, stream: int) -> None:
        if not self._terms.max_output:
            return
        attempt = self._known.get(context)
        if attempt is None or attempt.output is None:
            scrub = self._secrets.scrubber_of(context.assignment)
            with self._lock:
                attempt = self._known.setdefault(context, _Attempt(context))
                if attempt.output is None:
                    attempt.output = OutputBuffer(self._terms.max_output, scrub)
        assert attempt.output is not None
        attempt.output.write(text, stream)
        if attempt not in self._changed:
            self._note(context)

    def _note(self, context: TaskContext, sent: concurrent.futures.Future[None] | None = None) -> None:
        with self._lock:
            attempt = self._known.setdefault(context, _Attempt(context))
            if sent is not None:
                attempt.waiting.append(sent)
            if attempt.is_over:
                _release(attempt)
                return
            is_news = not self._changed or sent is not None
            self._changed[attempt] = None
        if is_news and self._loop is not None:
            self._loop.call_soon_threadsafe(self._wake, sent is not None)

    def _wake(self, urgent: bool) -> None:  # noqa: FBT001 - called by the loop, which passes positions only
        self._is_empty.clear()
        self._has_notes.set()
        if urgent:
            self._is_urgent.set()

    # -- called by the worker

    async def give_checkpoint(self, context: TaskContext) -> None:
        """Sends the last checkpoint of a failed attempt, if the server does not have it yet. The next attempt needs it."""
        attempt, told = self._known.get(context), context.told
        if attempt is None or told is None or told.checkpoint is attempt.checkpoint:
            return
        try:
            async with asyncio.timeout(LAST_SECONDS):
                await self.flush(context)
        except TimeoutError:
            log.warning("item %d: its last checkpoint could not be sent", context.item_id)
        except (
            Cancelled,
            asyncio.CancelledError,
        ):  # its lease is revoked, or the worker ends: it ends without it
            return

    def end(self, context: TaskContext) -> None:
        """Notes that an attempt has ended. What it printed is still sent."""
        attempt = self._known.get(context)
        if attempt is None or attempt.is_over:
            return
        with self._lock:
            attempt.is_over = True
            _release(attempt)
            if attempt.output is not None:
                attempt.output.finish()
            if attempt.output is None or not attempt.output.waiting:
                self._forget(attempt)
                return
            self._unsent += attempt.output.waiting
            self._changed[attempt] = None
            self._make_room()
        self._wake(urgent=False)

    async def wait_until_empty(self) -> None:
        """Waits until everything is sent."""
        await self._is_empty.wait()

    async def run(self) -> None:
        """Sends notes until it is cancelled."""
        self._loop = asyncio.get_running_loop()
        while True:
            await self._has_notes.wait()
            self._is_urgent.clear()
            try:
                hurry = await self._send()
            except LinkDown:
                await self._link.pause()
                continue
            with self._lock:
                if not self._changed:
                    self._has_notes.clear()
                    self._is_empty.set()
            if not hurry:
                await self._pause()

    async def _pause(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PAUSE_SECONDS):
                await self._is_urgent.wait()

    # -- sending

    async def _send(self) -> bool:
        """Sends what some attempts have told. Returns whether the rest should follow at once."""
        batch, notes = self._collect()
        revoked: set[str] = set()
        try:
            if batch:
                answer = await self._link.call(self._transport.take_notes(notes))
                revoked = {held.token for held in answer.revoked}
        except LinkDown:
            with self._lock:
                self._changed = {**{one.attempt: None for one in batch}, **self._changed}
            raise
        except TenaxError as error:
            log.warning("the server refused what attempts tell, which is dropped: %s", error)
        with self._lock:
            hurry = [self._note_sent(one, revoked) for one in batch]
            return True in hurry or (len(batch) >= MOST_ATTEMPTS and bool(self._changed))

    def _collect(self) -> tuple[list[_Sending], AttemptNotes]:
        """Takes what the next attempts have to send, up to a number of bytes."""
        batch: list[_Sending] = []
        with self._lock:
            size = 0
            while self._changed and len(batch) < MOST_ATTEMPTS and size < MOST_BYTES:
                attempt = next(iter(self._changed))
                del self._changed[attempt]
                one = _sending(attempt)
                size += len(one.checkpoint.value if one.checkpoint else "") + len(
                    one.part[1] if one.part else ""
                )
                if one.is_empty:
                    _release(attempt)
                else:
                    batch.append(one)
        return batch, AttemptNotes(
            self._worker,
            tuple(_checkpoint(one.attempt, one.checkpoint) for one in batch if one.checkpoint),
            tuple(_progress(one.attempt, one.progress) for one in batch if one.progress),
            tuple(_output(one.attempt, *one.part) for one in batch if one.part),
        )

    def _note_sent(self, one: _Sending, revoked: set[str]) -> bool:
        """Notes what the server has taken of an attempt. Returns whether an ended attempt has more."""
        attempt = one.attempt
        attempt.checkpoint, attempt.progress = (
            one.checkpoint or attempt.checkpoint,
            one.progress or attempt.progress,
        )
        if attempt.context.assignment.token in revoked:
            _release(
                attempt, Cancelled("the lease of the attempt was revoked, so its checkpoint was not kept")
            )
        told = attempt.context.told
        if attempt.is_over or told is None or told.checkpoint is attempt.checkpoint:
            _release(attempt)
        elif not attempt.is_over:
            self._changed[attempt] = None  # it has told another checkpoint meanwhile
        if attempt.output is not None and one.part is not None:
            attempt.output.note_sent()
            self._unsent -= len(one.part[1].encode()) if attempt.is_over else 0
            if attempt.output.waiting:
                self._changed[attempt] = None
                return attempt.is_over
        if attempt.is_over:
            self._forget(attempt)
        return False

    def _forget(self, attempt: _Attempt) -> None:
        self._known.pop(attempt.context, None)
        self._changed.pop(attempt, None)

    def _make_room(self) -> None:
        """Drops output of ended attempts beyond the limit, the oldest first."""
        if self._unsent <= MOST_UNSENT:
            return
        for attempt in [one for one in self._changed if one.is_over and one.output is not None]:
            assert attempt.output is not None
            self._unsent -= attempt.output.waiting
            self._forget(attempt)
            log.warning(
                "item %d: the server did not take its output, which is dropped", attempt.context.item_id
            )
            if self._unsent <= MOST_UNSENT:
                return


@dataclass(slots=True)
class _Sending:
    """Is what one request says of an attempt."""

    attempt: _Attempt
    checkpoint: Checkpoint | None
    progress: AttemptProgress | None
    part: tuple[int, str] | None

    @property
    def is_empty(self) -> bool:
        return self.checkpoint is None and self.progress is None and self.part is None


def _sending(attempt: _Attempt) -> _Sending:
    told, part = attempt.context.told, attempt.output.take() if attempt.output is not None else None
    if told is None or attempt.is_over:
        return _Sending(attempt, None, None, part)
    checkpoint = None if told.checkpoint is attempt.checkpoint else told.checkpoint
    return _Sending(attempt, checkpoint, None if told.progress is attempt.progress else told.progress, part)


def _checkpoint(attempt: _Attempt, checkpoint: Checkpoint) -> HeldCheckpoint:
    assignment = attempt.context.assignment
    return HeldCheckpoint(assignment.item_id, assignment.token, *checkpoint)


def _progress(attempt: _Attempt, told: AttemptProgress) -> HeldProgress:
    assignment = attempt.context.assignment
    return HeldProgress(assignment.item_id, assignment.token, *told)


def _output(attempt: _Attempt, start: int, text: str) -> OutputPart:
    a = attempt.context.assignment
    return OutputPart(
        a.execution_id,
        a.item_id,
        a.receipt,
        a.step,
        a.attempt,
        start,
        text,
        item=a.item,
        compensates=a.compensates,
    )


def _release(attempt: _Attempt, error: Exception | None = None) -> None:
    """Lets the calls go on that wait for the attempt's checkpoint."""
    for waiting in attempt.waiting:
        if waiting.done():
            continue
        if error is None:
            waiting.set_result(None)
        else:
            waiting.set_exception(error)
    attempt.waiting.clear()


def _is_in_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
