"""Opens transactions for the attempts of a worker that was given the database."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from queue import Empty, Full, LifoQueue
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tenax.errors import UsageError
from tenax.sdk.context import RecordedResult, TaskContext
from tenax.transactions.complete import complete_attempt, complete_attempt_sync

if TYPE_CHECKING:
    import asyncpg
    import psycopg

CONNECTIONS = 10
"""The most connections of each driver that a worker keeps open."""
IDLE_SECONDS = 60.0
"""Seconds after which an idle connection of asyncpg is closed."""
APPLICATION = "tenax task"


class TaskDatabase:
    """Keeps the connections for the transactions of a worker's tasks. It opens the first one when it is needed."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._pool: asyncpg.Pool | None = None
        self._idle: LifoQueue[psycopg.Connection[Any]] = LifoQueue(CONNECTIONS)

    def transaction(self, context: TaskContext) -> AttemptTransaction:
        """Makes a transaction that completes the attempt."""
        return AttemptTransaction(context, self)

    async def acquire(self) -> Any:
        """Takes a connection of asyncpg."""
        import asyncpg

        if self._pool is None:
            self._pool = asyncpg.create_pool(
                self._url,
                min_size=0,
                max_size=CONNECTIONS,
                max_inactive_connection_lifetime=IDLE_SECONDS,
                server_settings={"application_name": APPLICATION},
            )
        await self._pool
        return await self._pool.acquire()

    async def release(self, connection: Any) -> None:
        """Gives a connection of asyncpg back. A transaction that is still open is rolled back."""
        if self._pool is not None:
            await self._pool.release(connection)

    def acquire_sync(self) -> psycopg.Connection[Any]:
        """Takes a connection of psycopg. Raises UsageError if psycopg is not installed."""
        try:
            import psycopg
        except ImportError:
            raise UsageError(
                "`with ctx.transaction()` needs psycopg 3, which is not installed: "
                "pip install 'psycopg[binary]', or make the task async"
            ) from None
        while True:
            try:
                connection = self._idle.get_nowait()
            except Empty:
                return psycopg.connect(self._url, application_name=APPLICATION)
            if not connection.closed:
                return connection

    def release_sync(self, connection: psycopg.Connection[Any]) -> None:
        """Gives a connection of psycopg back."""
        if connection.closed:
            return
        try:
            self._idle.put_nowait(connection)
        except Full:
            connection.close()

    async def close(self) -> None:
        """Closes all idle connections, and those of asyncpg that tasks still hold."""
        if self._pool is not None:
            self._pool.terminate()
        with contextlib.suppress(Empty):
            while True:
                self._idle.get_nowait().close()


class AttemptTransaction:
    """Is one transaction of an attempt. As it commits, the attempt is complete."""

    def __init__(self, context: TaskContext, database: TaskDatabase) -> None:
        self._context = context
        self._database = database
        self._connection: Any = None
        self._transaction: Any = None

    async def __aenter__(self) -> Any:
        self._context.begin_transaction()
        try:
            self._connection = await self._database.acquire()
            self._transaction = self._connection.transaction()
            await self._transaction.start()
        except BaseException:
            self._context.end_transaction()
            if self._connection is not None:
                await self._database.release(self._connection)
            raise
        return self._connection

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        completion = self._context.end_transaction()
        try:
            if kind is None:
                await _to_the_end(self._commit(_stated(completion)))
        finally:
            await self._database.release(self._connection)

    async def _commit(self, completion: RecordedResult) -> None:
        await complete_attempt(self._connection, self._context, completion)
        await self._transaction.commit()
        completion.committed = True

    def __enter__(self) -> Any:
        self._context.begin_transaction()
        try:
            self._connection = self._database.acquire_sync()
        except BaseException:
            self._context.end_transaction()
            raise
        return self._connection

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        completion = self._context.end_transaction()
        connection = self._connection
        try:
            if kind is None:
                stated = _stated(completion)
                complete_attempt_sync(connection, self._context, stated)
                connection.commit()
                stated.committed = True
        finally:
            with contextlib.suppress(
                Exception
            ):  # a broken connection is closed, and its transaction rolled back
                connection.rollback()
            self._database.release_sync(connection)


def _stated(completion: RecordedResult | None) -> RecordedResult:
    if completion is None:
        raise UsageError(
            "the block of ctx.transaction() ended without ctx.complete(result), so it was rolled back: "
            "call ctx.complete(result) in the block, and use a connection of your own for other writes"
        )
    return completion


async def _to_the_end(work: Coroutine[Any, Any, None]) -> None:
    """Runs work to its end, even if the caller is cancelled meanwhile: it must be known whether the commit succeeded."""
    running = asyncio.ensure_future(work)
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        if not running.done():
            await asyncio.wait({running})
        if not running.cancelled():
            running.exception()  # the cancellation goes first
        raise
