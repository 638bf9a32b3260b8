"""Replaces the database's clock in tests."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
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

    async def pass_to(
        self, at: datetime, *, running: Collection[str] = (), lease: float = 30.0
    ) -> Collection[str]:
        """Sets the clock as if the server and its workers had been alive all the time. Expired items may then be given up at once.

        The leases of the attempts whose tokens are in `running` go on. Returns the tokens of those whose timeout is over.
        """
        async with transaction(self._database) as tx:
            await tx.fetchval(sql("set_fake_clock"), at)
            found = await tx.fetch(sql("keep_alive"), list(running), lease)
        return [row["lease_token"] for row in found]

    async def advance(self, seconds: float) -> datetime:
        return await self.set(await self.now() + timedelta(seconds=seconds))


@dataclass(frozen=True, slots=True)
class Pending:
    """Says what the database waits for."""

    busy: bool
    """True if something can happen without the clock."""
    due: datetime | None
    """The time of the next event that the clock causes."""


async def find_pending(tx: Connection, lost: Collection[str] = (), running: Collection[str] = ()) -> Pending:
    """Finds what happens next. Nobody reports the attempts whose tokens are in `lost`, and those in `running` time out."""
    row = await tx.fetchrow(sql("find_next_time"), list(lost), list(running))
    return Pending(row["busy"], row["next"])


async def next_time(tx: Connection) -> datetime | None:
    """Returns the time of the next event that the clock causes. Returns None if something is due now, or nothing ever will be."""
    pending = await find_pending(tx)
    return None if pending.busy else pending.due
