"""Opens transactions, and sessions without a transaction. Failures of PostgreSQL are translated for callers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tenax.store.connect import Connection, Database
from tenax.store.connections.outages import using


@asynccontextmanager
async def transaction(database: Database, *, planned: bool = False) -> AsyncIterator[Connection]:
    """Opens a transaction. Raises DatabaseAway if the database is gone or full: nothing was written, and a later try
    may work.

    `planned` takes a session for planned statements, which follow indexes whatever the tables hold.
    """
    async with session(database, planned=planned) as connection, connection.transaction():
        yield connection


@asynccontextmanager
async def snapshot(database: Database) -> AsyncIterator[Connection]:
    """Opens a read-only transaction in which every statement sees the database as the first one did."""
    async with (
        session(database, planned=False) as connection,
        connection.transaction(isolation="repeatable_read", readonly=True),
    ):
        yield connection


@asynccontextmanager
async def session(database: Database, *, planned: bool = True) -> AsyncIterator[Connection]:
    """Opens a session in which each statement is a transaction of its own. For a single statement that saves two round
    trips. Errors are the same as in a transaction."""
    async with using((database.planned_pool if planned else database.pool).acquire()) as connection:
        yield connection
