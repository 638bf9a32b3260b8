"""What the servers share: one secret, and a log that has room for the months to come."""

from __future__ import annotations

from datetime import datetime

import asyncpg

from tenax.store.connect import Connection
from tenax.store.statements import sql

MONTHS_AHEAD = 3
PARTITION_LOCK = "100ms"  # the longest that making a partition waits for its lock: whoever reads the log meanwhile waits behind it


async def secret(tx: Connection) -> bytes:
    value: bytes = await tx.fetchval("select secret from tenax.service")
    return value


async def oldest_schema(tx: Connection) -> int:
    """Returns the oldest schema whose servers can go on with this database."""
    version: int = await tx.fetchval(sql("oldest_schema"))
    return version


async def ensure_log_partitions(tx: Connection) -> list[str] | None:
    """Makes the log's partitions of the months to come, where they are missing.

    Returns None if all are there now. Returns the sessions that are in the way if the lock cannot be had soon: then it is tried again
    later, and until a month begins without its partition nothing is the worse for it.
    """
    try:
        async with tx.transaction():
            await tx.execute("select set_config('lock_timeout', $1, true)", PARTITION_LOCK)
            await tx.execute("select tenax.ensure_log_partitions($1)", MONTHS_AHEAD)
    except (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError):
        return [row["holder"] for row in await tx.fetch(sql("find_holders_of_log"))]
    return None


async def now(tx: Connection) -> datetime:
    value: datetime = await tx.fetchval("select tenax.now()")
    return value


async def lead(tx: Connection, server: str, seconds: float) -> bool:
    """Whether this server looks after the fleet, for so long."""
    return bool(await tx.fetchval(sql("lead"), server, seconds))


async def stop_leading(tx: Connection, server: str) -> None:
    await tx.execute(sql("stop_leading"), server)
