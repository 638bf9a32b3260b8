"""What is done every few seconds, whether or not anyone asks: by every server for itself, and by the one that leads for all."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import structlog

from tenax.engine.context import Core
from tenax.engine.fleet.fleet_view import Fleet
from tenax.engine.fleet.health_watch import Watch
from tenax.engine.fleet.leader import Leadership
from tenax.engine.recover.server_holds import Holds
from tenax.engine.recover.sweep import Recovery
from tenax.engine.recover.unserved_work import Nets
from tenax.engine.schema_guard import SchemaGuard
from tenax.errors import DatabaseAway, SchemaOutdated, Unreachable
from tenax.store import service
from tenax.store.tables import queue
from tenax.store.tables.workers import end_lost_workers

SWEPT_AT_ONCE = 10_000
"""Open executions that one sweep looks at; the next goes on from there."""
FLEET_LOOK = 1.0
"""Seconds between two looks at the fleet."""
WORKER_REMEMBERED = 7 * 86400.0
"""Seconds for which a worker that is gone is still listed."""
_log = structlog.get_logger("tenax.engine")


class Housekeeping:
    def __init__(
        self,
        core: Core,
        fleet: Fleet,
        *,
        wake_dispatcher: Callable[[], None],
        give_up_unwanted: Callable[[], Awaitable[int]],
    ) -> None:
        """`give_up_unwanted` ends the items that every live worker has refused."""
        self._core = core
        self._fleet = fleet
        self._wake_dispatcher = wake_dispatcher
        self._give_up_unwanted = give_up_unwanted
        self._recovery = Recovery(core)
        self._watch = Watch(core)
        self._nets = Nets(core)
        self._holds = Holds(core)
        self._news = asyncio.Event()
        self._away = False
        self._in_the_way: list[str] | None = None
        """Who kept the log's next partition from being made, when that was last tried."""
        self.leadership = Leadership(core)
        self.schema = SchemaGuard(core)

    def look_soon(self) -> None:
        """Lets the next look at the fleet begin now."""
        self._news.set()

    @property
    def loops(self) -> tuple[Callable[[], Awaitable[None]], ...]:
        return self._beating, self._sweeping, self._looking, self._guarding

    async def close(self) -> None:
        await self._safely(self.leadership.resign())

    async def beat(self) -> None:
        """Says that a server is alive; after a gap, no lease expires for a full lease."""
        settings = self._core.settings
        async with self._core.transaction() as tx:
            await queue.beat_service(tx, settings.lease, settings.probe_after)

    async def look_after_fleet(self) -> None:
        """How workers stand; and, by the one server that leads, how healthy they are, and what waits in vain."""
        news = await self._fleet.catch_up()
        if await self.leadership.renew():  # which sees a gap in service before anyone is judged by it
            changed = await self._watch.look()
            await self._nets.give_up_unserved()
            await self._nets.unblock_forgotten()
            if changed:
                news |= await self._fleet.catch_up()
                self._core.hub.announce(fleet=True)
        if news:
            self._wake_dispatcher()

    async def recover(self, most: int = SWEPT_AT_ONCE) -> list[int]:
        return await self._recovery.sweep(most)

    async def sweep(self) -> None:
        """Work that was left behind, workers that went away, room in the log."""
        await self.beat()
        await self.recover()
        await self._recovery.repair_waits()
        settings = self._core.settings
        async with self._core.transaction() as tx:
            await end_lost_workers(tx, 3 * settings.lease, WORKER_REMEMBERED, settings.health_window)
        await self.make_log_partitions()
        await self._give_up_unwanted()
        await self._holds.release()

    async def make_log_partitions(self) -> None:
        """Makes the log's next partitions, months ahead. Whoever is in the way is named once, and it is tried again at the next sweep."""
        async with self._core.transaction() as tx:
            in_the_way = await service.ensure_log_partitions(tx)
        if in_the_way is not None and in_the_way != self._in_the_way:
            _log.warning(
                "the log's next partition cannot be made yet: others hold a lock on tenax.log_default; it is tried again",
                held_by=", ".join(in_the_way) or "a session that has ended since",
            )
        self._in_the_way = in_the_way

    async def _beating(self) -> None:
        while True:
            await asyncio.sleep(self._core.settings.lease / 6)
            await self._safely(self.beat())

    async def _sweeping(self) -> None:
        while True:
            await asyncio.sleep(self._core.settings.sweep)
            with contextlib.suppress(Unreachable):  # whoever uses the database next says that it is away
                await self._core.database.look_after()
            if self.leadership.leads:
                await self._safely(self.sweep())

    async def _looking(self) -> None:
        while True:
            await self._safely(self.look_after_fleet())
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(FLEET_LOOK):
                    await self._news.wait()
            self._news.clear()

    async def _guarding(self) -> None:
        while True:
            await self.schema.until_next()
            await self._safely(self.schema.check())

    async def _safely(self, work: Coroutine[Any, Any, object]) -> None:
        """Goes on without PostgreSQL. It says once that it is away, and once that it is back; what is only busy is named each time."""
        try:
            await work
        except SchemaOutdated:
            return  # the guard has said so
        except DatabaseAway as error:
            if not self._away:
                _log.warning("PostgreSQL is away; the server goes on once it is back", error=str(error))
            self._away = True
        except Unreachable as error:
            _log.warning("something could not be done now; it is tried again", error=str(error))
        else:
            if self._away:
                _log.warning("PostgreSQL is back")
            self._away = False
