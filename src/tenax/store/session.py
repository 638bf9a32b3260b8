"""A transaction, or a session without one, and what its failures mean to those above."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from tenax.errors import Busy, Unreachable
from tenax.store.connect import GONE, Connection, Database

_BUSY = (
    asyncpg.DeadlockDetectedError,
    asyncpg.LockNotAvailableError,
    asyncpg.QueryCanceledError,
    asyncpg.SerializationError,
)
_FULL = (asyncpg.DiskFullError, asyncpg.OutOfMemoryError)


@asynccontextmanager
async def transaction(database: Database, *, straight: bool = False) -> AsyncIterator[Connection]:
    """One transaction. A database that is gone or full is `Unreachable`: nothing was written, try again later.

    `straight`: for statements that follow their indexes, whatever the tables hold.
    """
    async with session(database, straight=straight) as connection, connection.transaction():
        yield connection


@asynccontextmanager
async def snapshot(database: Database) -> AsyncIterator[Connection]:
    """A transaction that only reads, and in which every statement sees the database as the first one did."""
    async with (
        session(database, straight=False) as connection,
        connection.transaction(isolation="repeatable_read", readonly=True),
    ):
        yield connection


@asynccontextmanager
async def session(database: Database, *, straight: bool = True) -> AsyncIterator[Connection]:
    """A connection on which each statement is a transaction of its own: where there is but one, that saves two round trips. What
    goes wrong means the same as in a transaction."""
    our_fault = False
    try:
        async with (database.straight if straight else database.pool).acquire() as connection:
            try:
                yield connection
            except asyncpg.InterfaceError:
                # Also what asyncpg says of a wrong call: that is our own fault, and must not look like an outage.
                our_fault = not connection.is_closed()
                raise
    except _FULL as error:
        raise Unreachable(
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


def _gone(error: Exception) -> Unreachable:
    return Unreachable(f"the connection to PostgreSQL is gone: {error or type(error).__name__}")
