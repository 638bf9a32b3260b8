"""Translates failures of PostgreSQL for callers: the database is away, it is busy, or Tenax itself is at fault."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeAlias

import asyncpg

from tenax.errors import Busy, DatabaseAway

Connection: TypeAlias = asyncpg.Connection

GONE = (
    OSError,
    asyncpg.PostgresConnectionError,
    # asyncpg's state machine fails on the last message of a server that dies between two statements.
    asyncpg.InternalClientError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.IdleSessionTimeoutError,
    asyncpg.TooManyConnectionsError,
)
"""Errors of the connection and not of the statement: the same call may work on another connection."""
_BUSY = (
    asyncpg.DeadlockDetectedError,
    asyncpg.LockNotAvailableError,
    asyncpg.QueryCanceledError,
    asyncpg.SerializationError,
)
_FULL = (asyncpg.DiskFullError, asyncpg.OutOfMemoryError)


@asynccontextmanager
async def using(acquired: AbstractAsyncContextManager[Connection]) -> AsyncIterator[Connection]:
    """Acquires a connection of a pool for the block. Every use of a connection goes through here.

    Raises DatabaseAway if the database is away or has no room. Nothing was written then, and a later try may work.
    """
    our_fault = False
    try:
        async with acquired as connection:
            try:
                yield connection
            except asyncpg.InterfaceError:
                # asyncpg raises this also for a wrong call. Such a bug of Tenax must not look like an outage.
                our_fault = not is_connection_lost(connection)
                raise
    except _FULL as error:
        raise DatabaseAway(
            f"PostgreSQL cannot write: {error}", remedy="free some space on its disk"
        ) from error
    except _BUSY as error:
        raise Busy(f"PostgreSQL could not do it in time: {error}") from error
    except asyncpg.InterfaceError as error:
        if our_fault:
            raise
        raise _gone(error) from error
    except GONE as error:
        raise _gone(error) from error


def is_connection_lost(connection: Connection) -> bool:
    """Returns whether a connection is unusable. A pool takes a connection away from its user when its link breaks."""
    try:
        return bool(connection.is_closed())
    except asyncpg.InterfaceError:
        return True


def _gone(error: Exception) -> DatabaseAway:
    return DatabaseAway(f"the connection to PostgreSQL is gone: {error or type(error).__name__}")
