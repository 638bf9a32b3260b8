"""Holds what the tests of one process share: the event loop, PostgreSQL, and the database with its pools."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tenax.sdk.tasks.application import enter, leave
from tenax.settings import Settings
from tenax.store.connect import Database
from tenax.store.embedded.server import EmbeddedPostgres
from tenax.store.for_tests.databases import TestDatabases
from tenax.testing.application import TesterApplication
from tenax.testing.core import open_core
from tenax.testing.loop_thread import LoopThread
from tenax.testing.postgres import start_postgres
from tenax.testing.tester import Tester


class TesterSession:
    """Opens one tester after the other."""

    def __init__(self, folder: Path, database_url: str | None) -> None:
        """`folder` is for the embedded PostgreSQL, and for files. `database_url` names another PostgreSQL."""
        self._folder = folder
        self._loop = LoopThread()
        self._server: EmbeddedPostgres | None = None
        self._databases: TestDatabases | None = None
        self._database: Database | None = None
        try:
            self._databases = self._loop.call(TestDatabases.open(database_url or self._embedded()))
        except BaseException:
            self.close()
            raise

    @contextlib.contextmanager
    def tester(self, given: Mapping[str, Any], seconds: float) -> Iterator[Tester]:
        """Opens a tester on an empty database. `given` are settings."""
        settings, database = self._loop.call(self._empty_database(given))
        roll = [0.5]
        opened = open_core(database, settings, lambda: roll[0])
        core = self._loop.call(opened.__aenter__())
        core.seconds = seconds
        application = TesterApplication(core, self._loop)
        enter(application)
        try:
            yield Tester(core, self._loop, database.url, roll)
        finally:
            leave(application)
            self._loop.call(opened.__aexit__(None, None, None))

    def close(self) -> None:
        """Drops the databases, and stops PostgreSQL unless another process uses it."""
        try:
            if self._database is not None:
                self._loop.call(self._database.close())
            if self._databases is not None:
                self._loop.call(self._databases.close())
        finally:
            self._loop.close()
            if self._server is not None:
                self._server.release()

    async def _empty_database(self, given: Mapping[str, Any]) -> tuple[Settings, Database]:
        """Returns an empty database. Its pools are kept as long as it is."""
        assert self._databases is not None
        if (url := await self._databases.reuse()) is None:
            if self._database is not None:
                await self._database.close()
                self._database = None
            url = await self._databases.replace()
        settings = Settings(**{"home": self._folder, **given, "database_url": url})
        if self._database is None:
            self._database = await Database.connected(settings)
        return settings, self._database

    def _embedded(self) -> str:
        self._server = start_postgres(self._folder)
        return self._server.ensure_running()
