"""Tells a running task about its attempt."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, MutableMapping
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, Protocol

from tenax.errors import UsageError
from tenax.model.attempt.outcome import Usage
from tenax.model.attempt.usage import read_usage
from tenax.model.json_text import decode
from tenax.model.wire import Assignment
from tenax.sdk.outcomes import Cancelled
from tenax.sdk.tasks.told import DONE, AttemptProgress, Checkpoint, LiveState, read_progress


class Channel(Protocol):
    """Takes what an attempt tells. A worker has one for all of its attempts. Every method may be called from any thread."""

    @property
    def max_checkpoint(self) -> int:
        """The most bytes of a checkpoint. 0 if the server keeps none."""
        ...

    def encode(self, value: Any) -> str:
        """Returns a checkpoint as JSON. Raises `UsageError` if it has no JSON form, or is too large."""
        ...

    def tell(self, context: TaskContext) -> None:
        """Notes that the attempt has told something new."""
        ...

    def flush(self, context: TaskContext) -> Awaitable[None]:
        """Sends the checkpoint at once. Waits for it, unless it is called in an event loop: then the answer can be awaited."""
        ...

    def write(self, context: TaskContext, text: str, stream: int) -> None:
        """Keeps what the attempt prints. Stream 1 is stdout, and 2 is stderr."""
        ...


class AttemptServices(Protocol):
    """Is what a worker gives to the contexts of its attempts."""

    def encode(self, assignment: Assignment, result: Any) -> Any:
        """Returns a result as JSON values without secrets. Raises UsageError if it has no JSON form."""

    def transaction(self, context: TaskContext) -> CompletingTransaction:
        """Makes a transaction. Raises UsageError if the worker was not given the database."""


class CompletingTransaction(Protocol):
    """Is a transaction that completes its attempt as it commits. Async tasks get a connection of asyncpg, and others one of
    psycopg."""

    async def __aenter__(self) -> Any: ...
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    def __enter__(self) -> Any: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class RecordedResult:
    """Is the result with which an attempt completes in a transaction of its own."""

    __slots__ = ("committed", "is_sent", "result")

    def __init__(self, result: Any) -> None:
        self.result = result
        self.is_sent = False
        """True from the moment from which the transaction may commit the result."""
        self.committed = False
        """True once it is known that it has."""


class TaskContext:
    """Describes the attempt that a task runs in.

    There is one for every attempt, so it holds only the assignment and computes the rest on demand.
    """

    __slots__ = (
        "_assignment", "_cancelled", "_channel", "_closed", "_completion", "_live", "_services", "_started", "_transaction",
    )  # fmt: skip

    def __init__(
        self,
        assignment: Assignment,
        *,
        started: float,
        channel: Channel | None = None,
        services: AttemptServices | None = None,
    ) -> None:
        """`started` is a Unix time. `channel` takes what the attempt tells while it runs."""
        self._assignment = assignment
        self._started = started
        self._cancelled = False
        self._channel = channel
        self._live: LiveState | None = None
        self._services = services
        self._transaction = False
        self._completion: RecordedResult | None = None
        self._closed = False

    @property
    def execution_id(self) -> int:
        return self._assignment.execution_id

    @property
    def workflow(self) -> str:
        return self._assignment.workflow

    @property
    def step(self) -> str:
        return self._assignment.step

    @property
    def item_id(self) -> int:
        return self._assignment.item_id

    @property
    def item(self) -> int | None:
        """The number of the item in its fan-out (`for_each`), from 0. None if the step has no fan-out."""
        return self._assignment.item

    @property
    def compensates(self) -> bool:
        """True if this attempt undoes the step: it runs the step's `compensate`."""
        return self._assignment.compensates

    @property
    def attempt(self) -> int:
        """The number of the attempt, from 1."""
        return self._assignment.attempt

    @property
    def max_attempts(self) -> int | None:
        """The largest number of counted attempts. None means unlimited."""
        return self._assignment.max_attempts

    @property
    def is_retry(self) -> bool:
        """True if an earlier attempt failed. Attempts that were handed back or snoozed do not count."""
        return self._assignment.is_retry

    @property
    def receipt(self) -> str:
        """A key that is the same for all attempts of the work item. Pass it to the services you call, as an idempotency key."""
        return self._assignment.receipt

    @property
    def deadline(self) -> datetime:
        """The time at which the attempt times out."""
        return datetime.fromtimestamp(self._started, UTC) + timedelta(seconds=self._assignment.timeout)

    @property
    def cancelled(self) -> bool:
        """True once the attempt must end, because its lease is no longer this worker's. Its outcome will not count."""
        return self._cancelled

    @property
    def resumed_from(self) -> Any:
        """The last checkpoint of the earlier attempts, or None. Also after a worker was lost."""
        return decode(self._assignment.checkpoint)

    @property
    def logger(self) -> logging.LoggerAdapter[logging.Logger]:
        """Logs to `tenax.task`. Each line begins with the execution, step and attempt."""
        return _AttemptLogger(logging.getLogger("tenax.task"), self)

    def heartbeat(self) -> None:
        """Raises `Cancelled` if the attempt's lease was revoked. Call it from time to time in long work.

        The worker itself keeps the lease alive. A thread cannot be stopped from outside, so it must ask whether to stop.
        """
        if self._cancelled:
            raise Cancelled(f"the lease of attempt {self.attempt} of step {self.step!r} was revoked")

    def usage(self, *, tokens: int | None = None, cost_usd: float | None = None) -> None:
        """Reports what the attempt has used so far.

        Each call gives the sums of the attempt, and replaces the sums of earlier calls. The next heartbeat of the worker
        takes them to the server, which ends an attempt that has spent its budget.
        """
        stated = read_usage({"tokens": tokens, "cost_usd": cost_usd})
        if stated is None or stated == Usage():
            raise UsageError("usage() needs `tokens`, `cost_usd`, or both: the sums of the attempt so far")
        self.note_usage(stated)

    def note_usage(self, stated: Usage) -> None:
        """Takes in what the attempt has used so far. A sum that is not stated stays as it was."""
        live = self.live
        before = live.usage or Usage()
        cost = before.cost_usd if stated.cost_usd is None else stated.cost_usd
        tokens = before.tokens if stated.tokens is None else stated.tokens
        live.usage = Usage(cost, tokens)
        self._tell()

    def checkpoint(self, value: Any, *, flush: bool = False) -> Awaitable[None]:
        """Keeps a value for the next attempt, which gets it as `resumed_from`. Each call replaces the value before.

        The value is sent within a second. With `flush` it is sent at once: a function in a thread waits until the server has it,
        and an async function awaits the answer. Raises `Cancelled` then if the lease was revoked.
        """
        return self.note_checkpoint(
            "null" if self._channel is None else self._channel.encode(value), flush=flush
        )

    def note_checkpoint(self, value: str, *, flush: bool = False) -> Awaitable[None]:
        """Takes in a checkpoint as JSON."""
        last = self.live.checkpoint
        self.live.checkpoint = Checkpoint(1 if last is None else last.number + 1, value)
        if flush and self._channel is not None:
            return self._channel.flush(self)
        self._tell()
        return DONE

    def progress(self, fraction: float | None = None, message: str | None = None) -> None:
        """Tells how far the attempt is: a number from 0 to 1, a message, or both. People see the last one."""
        self.note_progress(read_progress(fraction, message))

    def note_progress(self, told: AttemptProgress) -> None:
        """Takes in how far the attempt is."""
        self.live.progress = told
        self._tell()

    def write(self, text: str, stream: int = 1) -> None:
        """Keeps what the attempt prints. Only the worker calls it."""
        if self._channel is not None and text:
            self._channel.write(self, text, stream)

    def transaction(self) -> CompletingTransaction:
        """Opens a transaction of the database in which the attempt completes: `async with ctx.transaction() as connection:`.

        The block must call `complete`. At its end the writes of the block and the success of the attempt are committed
        together, or neither is. Raises `Cancelled` if the attempt's lease is not valid any more. A sync task uses `with`.
        """
        if self._services is None:
            raise UsageError(
                "a task in a process of its own has no transaction",
                remedy="leave `process=True` out of its @task",
            )
        return self._services.transaction(self)

    def complete(self, result: Any = None) -> None:
        """States the result of the attempt, which the transaction around it commits (`ctx.transaction()`)."""
        if not self._transaction:
            raise UsageError(
                "ctx.complete() belongs into the block of ctx.transaction()",
                remedy="with a connection of your own: tenax.transactions.complete(connection, result)",
            )
        self._completion = self._completion_of(result)

    def begin_transaction(self) -> None:
        """Notes that a transaction is open that completes the attempt. Only transactions call it."""
        self.heartbeat()
        if self._transaction or (self._completion is not None and self._completion.is_sent):
            raise UsageError(
                "this attempt has completed already, or is within a transaction that completes it"
            )
        self._transaction, self._completion = True, None

    def end_transaction(self) -> RecordedResult | None:
        """Notes that the block is over. Returns what it stated."""
        self._transaction = False
        return self._completion

    def send_completion(self, completion: RecordedResult) -> None:
        """Marks a result as one that may be committed from now on. Raises Cancelled if the attempt was given up meanwhile.

        A thread may call it while the worker gives the attempt up: one of both sees what the other has set.
        """
        completion.is_sent = True
        self._completion = completion
        if self._closed:
            completion.is_sent = False
            raise Cancelled(f"attempt {self.attempt} of step {self.step!r} was given up")

    def completion_of(self, result: Any) -> RecordedResult:
        """Returns a completion with this result as JSON values. Only transactions call it."""
        if self._completion is not None and self._completion.is_sent:
            raise UsageError("this attempt has completed already")
        return self._completion_of(result)

    def _completion_of(self, result: Any) -> RecordedResult:
        if self._services is None:
            raise UsageError(
                "a task in a process of its own cannot complete in a transaction",
                remedy="leave `process=True` out of its @task",
            )
        return RecordedResult(self._services.encode(self._assignment, result))

    def close(self) -> RecordedResult | None:
        """Ends the attempt for the worker. Returns the result that its transaction has committed, or may have committed."""
        self._closed = True
        completion = self._completion
        return completion if completion is not None and completion.is_sent else None

    @property
    def token(self) -> str:
        """The token of the attempt's lease."""
        return self._assignment.token

    @property
    def used(self) -> Usage | None:
        """The sums that the attempt has stated so far. None if it has stated none."""
        return None if self._live is None else self._live.usage

    @property
    def told(self) -> LiveState | None:
        """What the attempt has told so far. None if it has told nothing."""
        return self._live

    @property
    def live(self) -> LiveState:
        if self._live is None:
            self._live = LiveState()
        return self._live

    @property
    def max_checkpoint(self) -> int:
        """The most bytes of a checkpoint. 0 if nobody keeps one."""
        return 0 if self._channel is None else self._channel.max_checkpoint

    @property
    def assignment(self) -> Assignment:
        """The assignment of the attempt. Only the worker needs it."""
        return self._assignment

    def revoke(self) -> None:
        """Notes that the lease is revoked, so that `heartbeat` raises. Only the worker calls it."""
        self._cancelled = True

    def _tell(self) -> None:
        if self._channel is not None:
            self._channel.tell(self)


class _AttemptLogger(logging.LoggerAdapter[logging.Logger]):
    def __init__(self, logger: logging.Logger, context: TaskContext) -> None:
        fields = ("execution_id", "workflow", "step", "item", "item_id", "attempt")
        super().__init__(logger, {name: getattr(context, name) for name in fields})

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        own = self.extra or {}
        kwargs["extra"] = {**own, **(kwargs.get("extra") or {})}
        item = "" if own["item"] is None else f" item {own['item']}"
        return f"[{own['execution_id']} {own['step']}{item} attempt {own['attempt']}] {msg}", kwargs


CURRENT: ContextVar[TaskContext] = ContextVar("tenax_task_context")
"""The context of the running attempt. The worker sets it for each attempt."""


def context() -> TaskContext:
    """Returns the context of the attempt that calls it."""
    try:
        return CURRENT.get()
    except LookupError:
        raise UsageError(
            "there is no running attempt here, so there is no context",
            remedy="call tenax.context() from within a task that a worker runs",
        ) from None
