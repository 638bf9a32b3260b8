"""Reads and writes data that all servers share: one secret, the leader's lease, and the log's partitions of the next months."""

from __future__ import annotations

from datetime import datetime

import asyncpg

from tenax.store.connect import Connection
from tenax.store.statements import sql

MONTHS_AHEAD = 3  # months for which the log has partitions
PARTITION_LOCK = (
    "100ms"  # seconds to wait for the lock to make a partition; readers of the log wait behind it
)


async def secret(tx: Connection) -> bytes:
    value: bytes = await tx.fetchval("select secret from tenax.service")
    return value


async def oldest_schema(tx: Connection) -> int:
    """Returns the oldest schema whose servers may still use this database."""
    version: int = await tx.fetchval(sql("oldest_schema"))
    return version


async def ensure_log_partitions(tx: Connection) -> list[str] | None:
    """Makes the missing partitions of the log for the next months. Returns None if all exist now.

    If it cannot take the lock soon, it returns the sessions that block it. A later call tries again. This does no harm unless a month
    begins without its partition.
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
    """Takes or renews the lease of the leader for this many seconds. Returns whether this server leads."""
    return bool(await tx.fetchval(sql("lead"), server, seconds))


async def stop_leading(tx: Connection, server: str) -> None:
    await tx.execute(sql("stop_leading"), server)
