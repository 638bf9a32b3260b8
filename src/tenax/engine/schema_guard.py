"""Checks whether this server may still use its database: a newer server may have migrated it to a schema that this
version cannot use."""

from __future__ import annotations

import asyncio
import contextlib

import structlog

from tenax.engine.context import EngineContext
from tenax.errors import SchemaOutdated
from tenax.store import service
from tenax.store.migrate import latest_version

EVERY = 5.0
"""Seconds between two checks. One more check follows when the connection for LISTEN is made again."""
_log = structlog.get_logger("tenax.engine")


class SchemaGuard:
    """Checks the schema from time to time. Once the schema is too new, the engine refuses everything that would use the
    database."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context
        self._version = latest_version()
        self._look = asyncio.Event()
        self.outdated = asyncio.Event()
        """Set when this server must stop."""

    def look_soon(self) -> None:
        """Ends the wait for the next check."""
        self._look.set()

    async def until_next(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(EVERY):
                await self._look.wait()
        self._look.clear()

    async def check(self) -> None:
        async with self._context.transaction() as tx:
            oldest = await service.oldest_schema(tx)
        if oldest <= self._version:
            return
        self._context.refusal = SchemaOutdated(
            f"the database has been migrated: it wants servers that know schema {oldest}, and this one ends at {self._version}. "
            "It stands aside",
            remedy="install the version of Tenax that the other servers run, and start it again",
        )
        _log.error(self._context.refusal.message, remedy=self._context.refusal.remedy)
        self.outdated.set()
