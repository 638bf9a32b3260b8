"""Holds what the tests of one process share: the event loop, PostgreSQL, and the database with its pools."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tenax.settings import Settings
from tenax.store.connect import Database
from tenax.store.embedded.server import EmbeddedPostgres
from tenax.store.for_tests.databases import TestDatabases
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
        assert self._databases is not None
        url, same = self._loop.call(self._databases.take())
        settings = Settings(**{"home": self._folder, **given, "database_url": url})
        roll = [0.5]
        opened = open_core(
            self._loop.call(self._open_database(settings, same=same)), settings, lambda: roll[0]
        )
        core = self._loop.call(opened.__aenter__())
        try:
            core.seconds = seconds
            yield Tester(core, self._loop, url, roll)
        finally:
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

    async def _open_database(self, settings: Settings, *, same: bool) -> Database:
        """Returns the pools of the database. They are kept as long as the database is."""
        if self._database is not None and same:
            return self._database
        if self._database is not None:
            await self._database.close()
        self._database = await Database.connected(settings)
        return self._database

    def _embedded(self) -> str:
        self._server = start_postgres(self._folder)
        return self._server.ensure_running()
