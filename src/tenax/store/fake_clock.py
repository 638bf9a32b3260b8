"""The database's clock in the hands of a test."""

from __future__ import annotations

from datetime import datetime, timedelta

from tenax.store.connect import Database
from tenax.store.session import transaction
from tenax.store.statements import sql


class FakeClock:
    """Time stands still until it is moved, and it only moves forward."""

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

    async def advance(self, seconds: float) -> datetime:
        return await self.set(await self.now() + timedelta(seconds=seconds))
