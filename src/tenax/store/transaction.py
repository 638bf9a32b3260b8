"""A transaction, or a session without one, and what its failures mean to those above."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tenax.store.connect import Connection, Database
from tenax.store.outages import using


@asynccontextmanager
async def transaction(database: Database, *, planned: bool = False) -> AsyncIterator[Connection]:
    """One transaction. A database that is gone or full is `DatabaseAway`: nothing was written, try again later.

    `planned`: for statements that follow their indexes, whatever the tables hold.
    """
    async with session(database, planned=planned) as connection, connection.transaction():
        yield connection


@asynccontextmanager
async def snapshot(database: Database) -> AsyncIterator[Connection]:
    """A transaction that only reads, and in which every statement sees the database as the first one did."""
    async with (
        session(database, planned=False) as connection,
        connection.transaction(isolation="repeatable_read", readonly=True),
    ):
        yield connection


@asynccontextmanager
async def session(database: Database, *, planned: bool = True) -> AsyncIterator[Connection]:
    """A connection on which each statement is a transaction of its own: where there is but one, that saves two round trips. What
    goes wrong means the same as in a transaction."""
    async with using((database.planned_pool if planned else database.pool).acquire()) as connection:
        yield connection
