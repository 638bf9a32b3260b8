"""Empties a migrated database, so that the next test can use it."""

from __future__ import annotations

from tenax.store.connect import Connection
from tenax.store.statements import sql


async def install_reset(connection: Connection) -> None:
    """Remembers what the database is like now."""
    await connection.execute(sql("install_reset"))


async def reset(connection: Connection) -> bool:
    """Empties the tables, and takes a fake clock away. Returns False if the schema has been changed: do not use that database
    again."""
    return bool(await connection.fetchval(sql("reset_tables")))


async def end_other_sessions(connection: Connection) -> None:
    """Ends the other sessions of the database, and waits for their end."""
    await connection.execute(sql("end_other_sessions"))
