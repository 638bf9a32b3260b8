"""What the servers share: one secret, and a log that has room for the months to come."""

from __future__ import annotations

from datetime import datetime

from tenax.store.connect import Connection
from tenax.store.statements import sql

MONTHS_AHEAD = 3


async def secret(tx: Connection) -> bytes:
    value: bytes = await tx.fetchval("select secret from tenax.service")
    return value


async def oldest_schema(tx: Connection) -> int:
    """Returns the oldest schema whose servers can go on with this database."""
    version: int = await tx.fetchval(sql("oldest_schema"))
    return version


async def ensure_log_partitions(tx: Connection) -> None:
    await tx.execute("select tenax.ensure_log_partitions($1)", MONTHS_AHEAD)


async def now(tx: Connection) -> datetime:
    value: datetime = await tx.fetchval("select tenax.now()")
    return value


async def lead(tx: Connection, server: str, seconds: float) -> bool:
    """Whether this server looks after the fleet, for so long."""
    return bool(await tx.fetchval(sql("lead"), server, seconds))


async def stop_leading(tx: Connection, server: str) -> None:
    await tx.execute(sql("stop_leading"), server)
