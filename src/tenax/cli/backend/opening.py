"""Opens what a command speaks to: a server, if the settings name one, or else the database itself."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from tenax.cli.backend.protocol import Backend
from tenax.server_token import token_for
from tenax.settings import Settings

if TYPE_CHECKING:
    from tenax.engine.engine import Engine


@contextlib.asynccontextmanager
async def open_backend(settings: Settings, *, follow: bool = False) -> AsyncIterator[Backend]:
    """`follow`: hear at once of what happens to an execution, for `news(wait=...)`."""
    if settings.server:
        from tenax.cli.backend.http import ServerBackend
        from tenax.sdk.client import Client

        async with Client(settings.server, token_for(settings, settings.server)) as client:
            yield ServerBackend(client)
        return
    from tenax.cli.backend.direct import DatabaseBackend
    from tenax.cli.logs import configure_logging
    from tenax.cli.process.home import tell_of_new_database
    from tenax.engine.engine import Engine
    from tenax.store.connect import Database

    configure_logging("warning")
    tell_of_new_database(settings)
    async with Database.open(settings, max_size=2, application_name="tenax command") as database:
        engine = Engine(database, settings)
        with contextlib.closing(engine.context.reading.reader_processes):
            async with _hearing(engine, follow=follow):
                yield DatabaseBackend(engine)


@contextlib.asynccontextmanager
async def _hearing(engine: Engine, *, follow: bool) -> AsyncIterator[None]:
    if not follow:
        yield
        return
    ears = asyncio.create_task(engine.context.notifier.receive())
    try:
        yield
    finally:
        ears.cancel()
        await asyncio.gather(ears, return_exceptions=True)
