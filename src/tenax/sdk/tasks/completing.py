"""Lets an attempt complete in a transaction of its own, and tells its worker what that transaction has recorded."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Protocol

from tenax.errors import UsageError
from tenax.model.wire import Assignment
from tenax.sdk.outcomes import Cancelled


class AttemptServices(Protocol):
    """Is what a worker gives to the contexts of its attempts."""

    def encode(self, assignment: Assignment, result: Any) -> Any:
        """Returns a result as JSON values without secrets. Raises UsageError if it has no JSON form."""

    def transaction(self, context: CompletingContext) -> CompletingTransaction:
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


class CompletingContext:
    """Is the part of a task's context by which the attempt completes in a transaction."""

    __slots__ = ("_assignment", "_closed", "_completion", "_services", "_transaction")

    def __init__(self, assignment: Assignment, services: AttemptServices | None) -> None:
        self._assignment = assignment
        self._services = services
        self._transaction = False
        self._completion: RecordedResult | None = None
        self._closed = False

    def heartbeat(self) -> None:
        """Raises `Cancelled` if the attempt's lease was revoked."""
        raise NotImplementedError

    @property
    def item_id(self) -> int:
        return self._assignment.item_id

    @property
    def step(self) -> str:
        return self._assignment.step

    @property
    def attempt(self) -> int:
        """The number of the attempt, from 1."""
        return self._assignment.attempt

    @property
    def token(self) -> str:
        """The token of the attempt's lease."""
        return self._assignment.token

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
