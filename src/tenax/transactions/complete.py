"""Completes the running attempt in the task's own transaction: its writes and its success are committed together."""

from __future__ import annotations

from typing import Any

from tenax.errors import UsageError
from tenax.model.json_text import encode
from tenax.sdk.context import RecordedResult, TaskContext, context
from tenax.sdk.outcomes import Cancelled
from tenax.transactions.drivers import DriverCall, call, call_sync

LEASE_LOST = "TX001"
"""The SQLSTATE of `tenax.complete` for a lease that is not valid any more."""
UNDEFINED = frozenset({"42883", "3F000", "42P01"})
"""The SQLSTATEs for a function, a schema or a table that there is not."""


async def complete(connection: Any, result: Any = None) -> None:
    """Completes the running attempt with this result, once the transaction of the connection commits.

    DriverCall it last, and commit before the task returns. Raises `Cancelled` if the attempt's lease is not valid any more.
    """
    running = context()
    await complete_attempt(connection, running, running.completion_of(result))


def complete_sync(connection: Any, result: Any = None) -> None:
    """Does what `complete` does, with a connection that blocks."""
    running = context()
    complete_attempt_sync(connection, running, running.completion_of(result))


async def complete_attempt(connection: Any, running: TaskContext, completion: RecordedResult) -> None:
    """Completes an attempt with a connection for asyncio."""
    running.send_completion(completion)
    try:
        await call(connection, _call(running, completion))
    except Exception as error:
        _explain(error, running)
        raise


def complete_attempt_sync(connection: Any, running: TaskContext, completion: RecordedResult) -> None:
    """Completes an attempt with a connection that blocks."""
    running.send_completion(completion)
    try:
        call_sync(connection, _call(running, completion))
    except Exception as error:
        _explain(error, running)
        raise


def _call(running: TaskContext, completion: RecordedResult) -> DriverCall:
    arguments = {
        "item_id": ("bigint", running.item_id),
        "token": ("uuid", running.token),
        "result": ("jsonb", None if completion.result is None else encode(completion.result)),
    }
    return DriverCall("complete", arguments)


def _explain(error: Exception, running: TaskContext) -> None:
    """Raises the error that a task expects, if the database says that the lease is lost or that it has no such function."""
    state = _sqlstate(error)
    if state == LEASE_LOST:
        raise Cancelled(
            f"the lease of attempt {running.attempt} of step {running.step!r} is not valid any more: nothing was written"
        ) from error
    if state in UNDEFINED:
        raise UsageError(
            "this database has no function tenax.complete: "
            "use the database of Tenax, and migrate it to the version of the worker"
        ) from error


def _sqlstate(error: BaseException | None) -> str | None:
    """Returns the SQLSTATE of an error, or of the driver's error that it wraps."""
    while error is not None:
        for one in (error, getattr(error, "orig", None)):
            if isinstance(state := getattr(one, "sqlstate", None), str):
                return state
        error = error.__cause__
    return None
