"""A transaction, and what its failures mean to those above."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from tenax.errors import Unreachable
from tenax.store.connect import Connection, Database

_GONE = (
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # seen when the server is killed within a statement
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.TooManyConnectionsError,
    ConnectionError,
    TimeoutError,
)
_BUSY = (
    asyncpg.DeadlockDetectedError,
    asyncpg.LockNotAvailableError,
    asyncpg.QueryCanceledError,
    asyncpg.SerializationError,
)
_FULL = (asyncpg.DiskFullError, asyncpg.OutOfMemoryError)


@asynccontextmanager
async def transaction(database: Database) -> AsyncIterator[Connection]:
    """One transaction. A database that is gone or full is `Unreachable`: nothing was written, try again later."""
    try:
        async with database.pool.acquire() as connection, connection.transaction():
            yield connection
    except _FULL as error:
        raise Unreachable(
            f"PostgreSQL cannot write: {error}", remedy="free some space on its disk"
        ) from error
    except _BUSY as error:
        raise Unreachable(f"PostgreSQL could not do it in time: {error}") from error
    except (*_GONE, FileNotFoundError) as error:
        raise Unreachable(f"the connection to PostgreSQL is gone: {error or type(error).__name__}") from error
