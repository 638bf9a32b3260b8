"""Replaces the database's clock in tests."""

from __future__ import annotations

from datetime import datetime, timedelta

from tenax.store.connect import Connection, Database
from tenax.store.statements import sql
from tenax.store.transaction import transaction


class FakeClock:
    """A clock that stands still until a test moves it. It only moves forward."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def install(self) -> None:
        async with transaction(self._database) as tx:
            await tx.execute(sql("install_fake_clock"))

    async def now(self) -> datetime:
        async with transaction(self._database) as tx:
            now: datetime = await tx.fetchval("select tenax.now()")
        return now

    async def set(self, at: datetime) -> datetime:
        async with transaction(self._database) as tx:
            now: datetime = await tx.fetchval(sql("set_fake_clock"), at)
        return now

    async def pass_to(self, at: datetime) -> datetime:
        """Sets the clock as if a server had been alive all the time. Expired items may then be given up at once."""
        async with transaction(self._database) as tx:
            now: datetime = await tx.fetchval(sql("set_fake_clock"), at)
            await tx.execute("update tenax.service set alive_at = $1 where alive_at is not null", now)
        return now

    async def advance(self, seconds: float) -> datetime:
        return await self.set(await self.now() + timedelta(seconds=seconds))


async def next_time(tx: Connection) -> datetime | None:
    """Returns the time of the next event that the clock causes. Returns None if something is due now, or nothing ever will be."""
    row = await tx.fetchrow(sql("find_next_time"))
    return None if row["busy"] else row["next"]
