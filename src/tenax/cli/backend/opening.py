"""Opens the backend of a command: a server if the settings name one, else the database itself."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from tenax.cli.backend.protocol import Backend
from tenax.settings import Settings
from tenax.settings.server_token import token_for

if TYPE_CHECKING:
    from tenax.engine.engine import Engine


@contextlib.asynccontextmanager
async def open_backend(settings: Settings, *, follow: bool = False) -> AsyncIterator[Backend]:
    """Opens the backend that the settings name. `follow` receives notifications, for `news(wait=...)`."""
    if settings.server:
        from tenax.cli.backend.http import ServerBackend
        from tenax.sdk.client import Client

        async with Client(settings.server, token_for(settings, settings.server)) as client:
            yield ServerBackend(client)
        return
    from tenax.cli.backend.direct import DatabaseBackend
    from tenax.cli.logs import configure_logging
    from tenax.cli.process.home import announce_new_database
    from tenax.engine.engine import Engine
    from tenax.store.connect import Database

    configure_logging("warning")
    announce_new_database(settings)
    async with Database.open(settings, max_size=2, application_name="tenax command") as database:
        engine = Engine(database, settings)
        with contextlib.closing(engine.context.reading.reader_processes):
            async with _listening(engine, follow=follow):
                yield DatabaseBackend(engine)


@contextlib.asynccontextmanager
async def _listening(engine: Engine, *, follow: bool) -> AsyncIterator[None]:
    if not follow:
        yield
        return
    receiving = asyncio.create_task(engine.context.notifier.receive())
    try:
        yield
    finally:
        receiving.cancel()
        await asyncio.gather(receiving, return_exceptions=True)
