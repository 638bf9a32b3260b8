"""Runs the periodic work: some of it on every server, some only on the leading one."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import structlog

from tenax.engine.context import EngineContext
from tenax.engine.fleet.fleet_view import Fleet
from tenax.engine.fleet.health_watch import HealthWatch
from tenax.engine.fleet.leader import Leadership
from tenax.engine.packs.library import delete_unused_packs
from tenax.engine.recover.server_holds import HeldItemReleases
from tenax.engine.recover.stray_results import record_stray_results
from tenax.engine.recover.sweep import Recovery
from tenax.engine.recover.unserved_work import UnservedWork
from tenax.engine.schema_guard import SchemaGuard
from tenax.errors import DatabaseAway, SchemaOutdated, Unreachable
from tenax.store import service
from tenax.store.applications.rejected_submissions import forget_rejected
from tenax.store.fleet.workers import end_lost_workers
from tenax.store.live.checkpoints import NO_CHECKPOINT, forget_checkpoints
from tenax.store.live.progress import forget_progress

SWEPT_AT_ONCE = 10_000
"""Open executions that one sweep checks. The next sweep goes on from there."""
CHECKPOINTS_AT_ONCE = 1000
"""Checkpoints that one sweep looks at. The next sweep goes on from there."""
FLEET_LOOK = 1.0
"""Seconds between two checks of the fleet."""
WORKER_REMEMBERED = 7 * 86400.0
"""Seconds for which a worker that is gone is still listed."""
REJECTED_REMEMBERED = 30 * 86400.0
"""Seconds for which a rejected submission is kept."""
_log = structlog.get_logger("tenax.engine")


class Maintenance:
    def __init__(
        self,
        context: EngineContext,
        fleet: Fleet,
        *,
        wake_dispatcher: Callable[[], None],
        give_up_unwanted: Callable[[], Awaitable[int]],
    ) -> None:
        """`give_up_unwanted` ends the items that every live worker has refused."""
        self._context = context
        self._fleet = fleet
        self._wake_dispatcher = wake_dispatcher
        self._give_up_unwanted = give_up_unwanted
        self._recovery = Recovery(context)
        self._watch = HealthWatch(context)
        self._nets = UnservedWork(context)
        self._holds = HeldItemReleases(context)
        self._news = asyncio.Event()
        self._away = False
        self._in_the_way: list[str] | None = None
        """The sessions that blocked the log's next partition at the last try."""
        self._seen_checkpoint = NO_CHECKPOINT
        self.leadership = Leadership(context)
        self.schema = SchemaGuard(context)

    def look_soon(self) -> None:
        """Starts the next check of the fleet now."""
        self._news.set()

    @property
    def loops(self) -> tuple[Callable[[], Awaitable[None]], ...]:
        return self._beating, self._sweeping, self._looking, self._guarding

    async def close(self) -> None:
        await self._safely(self.leadership.resign())

    async def beat(self) -> None:
        """Records that a server is alive. After a gap in service no lease expires for a full lease."""
        settings = self._context.settings
        async with self._context.transaction() as tx:
            await service.beat_service(tx, settings.lease, settings.probe_after)

    async def look_after_fleet(self) -> None:
        """Synchronises the state of the workers. The leading server also judges their health and searches for stuck work."""
        news = await self._fleet.catch_up()
        if await self.leadership.renew():  # this detects a gap in service before any worker is judged by it
            changed = await self._watch.look()
            await self._nets.give_up_unserved()
            await self._nets.unblock_forgotten()
            if changed:
                news |= await self._fleet.catch_up()
                self._context.notifier.announce(fleet=True)
        if news:
            self._wake_dispatcher()

    async def recover(self, most: int = SWEPT_AT_ONCE) -> list[int]:
        return await self._recovery.sweep(most)

    async def sweep(self) -> None:
        """Repairs stuck executions, forgets workers that went away, rejected submissions and packs that nothing uses, and makes room in the log."""
        await self.beat()
        await self.recover()
        await self._recovery.repair_waits()
        settings = self._context.settings
        async with self._context.transaction() as tx:
            await end_lost_workers(tx, 3 * settings.lease, WORKER_REMEMBERED, settings.health_window)
            await forget_rejected(tx, REJECTED_REMEMBERED)
        await self.make_log_partitions()
        await self._give_up_unwanted()
        await self._holds.release()
        await record_stray_results(self._context)
        await delete_unused_packs(self._context)
        await self._forget_notes()

    async def _forget_notes(self) -> None:
        """Removes the progress of ended attempts, and looks at the next checkpoints for some whose work has succeeded."""
        async with self._context.transaction() as tx:
            await forget_progress(tx)
            self._seen_checkpoint = await forget_checkpoints(tx, self._seen_checkpoint, CHECKPOINTS_AT_ONCE)

    async def make_log_partitions(self) -> None:
        """Makes the log's partitions of the next months. Blocking sessions are logged once, and the next sweep tries
        again."""
        async with self._context.transaction() as tx:
            in_the_way = await service.ensure_log_partitions(tx)
        if in_the_way is not None and self._in_the_way is None:
            _log.warning(
                "the log's next partition cannot be made yet: others hold a lock on tenax.log_default; it is tried again",
                held_by=", ".join(in_the_way) or "a session that has ended since",
            )
        self._in_the_way = in_the_way

    async def _beating(self) -> None:
        while True:
            await asyncio.sleep(self._context.settings.lease / 6)
            await self._safely(self.beat())

    async def _sweeping(self) -> None:
        while True:
            await asyncio.sleep(self._context.settings.sweep)
            with contextlib.suppress(Unreachable):  # the next use of the database reports that it is away
                await self._context.database.look_after()
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
        """Runs work and survives an outage of PostgreSQL. The outage and its end are logged once each, a busy database
        each time."""
        try:
            await work
        except SchemaOutdated:
            return  # the guard has logged it
        except DatabaseAway as error:
            if not self._away:
                _log.warning("PostgreSQL is away; the server goes on once it is back", error=str(error))
            self._away = True
        except Unreachable as error:
            _log.warning("periodic work could not be done now; it is tried again", error=str(error))
        else:
            if self._away:
                _log.warning("PostgreSQL is back")
            self._away = False
