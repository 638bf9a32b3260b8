"""Reads and writes data that all servers share: one secret, the time a server was last alive, the leader's lease, and the log's partitions
of the next months."""

from __future__ import annotations

from datetime import datetime

import asyncpg
import structlog

from tenax.store.connect import Connection
from tenax.store.statements import sql

_log = structlog.get_logger("tenax.service")

MONTHS_AHEAD = 3  # months for which the log has partitions
PARTITION_LOCK = (
    "100ms"  # seconds to wait for the lock to make a partition; readers of the log wait behind it
)


async def secret(tx: Connection) -> bytes:
    value: bytes = await tx.fetchval(sql("read_secret"))
    return value


async def describe_database(tx: Connection) -> tuple[int, str]:
    """Returns the size of the database in bytes, and the version of PostgreSQL."""
    size, version = await tx.fetchrow(sql("describe_database"))
    return size, version


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


async def beat_service(tx: Connection, lease: float, probe_after: float) -> None:
    """Records that a server is alive. Half a lease without a record is a gap in service. If the clock was set back,
    times that are now too far ahead are corrected."""
    set_back: float | None = await tx.fetchval(sql("beat_service"), lease / 2, lease)
    if set_back is not None:
        _log.warning(
            "the clock of PostgreSQL was set back; times that are too far ahead are corrected",
            seconds=set_back,
        )
        await tx.execute(sql("correct_times"), lease, probe_after)
