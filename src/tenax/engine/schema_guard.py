"""Whether this server may go on with its database: a newer one may have migrated it to a schema that this one was not written for."""

from __future__ import annotations

import asyncio
import contextlib

import structlog

from tenax.engine.context import Core
from tenax.errors import SchemaOutdated
from tenax.store import service
from tenax.store.migrate import latest_version

EVERY = 5.0
"""Seconds between two looks. When the connection that listens is made anew, there is one more."""
_log = structlog.get_logger("tenax.engine")


class SchemaGuard:
    """Looks now and then. Once the schema is too new, the engine refuses all that would touch the database."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._version = latest_version()
        self._look = asyncio.Event()
        self.outdated = asyncio.Event()
        """Set when this server must stop."""

    def look_soon(self) -> None:
        """Ends the wait for the next look."""
        self._look.set()

    async def until_next(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(EVERY):
                await self._look.wait()
        self._look.clear()

    async def check(self) -> None:
        async with self._core.transaction() as tx:
            oldest = await service.oldest_schema(tx)
        if oldest <= self._version:
            return
        self._core.refusal = SchemaOutdated(
            f"the database has been migrated: it wants servers that know schema {oldest}, and this one ends at {self._version}. "
            "It stands aside",
            remedy="install the version of Tenax that the other servers run, and start it again",
        )
        _log.error(self._core.refusal.message, remedy=self._core.refusal.remedy)
        self.outdated.set()
