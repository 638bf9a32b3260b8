"""Makes the databases of a test run, on any PostgreSQL: one for each process, which is emptied between two tests."""

from __future__ import annotations

import uuid
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from tenax.store.connect import Connection, connect
from tenax.store.for_tests.reset import install_reset, reset
from tenax.store.migrate import migrate
from tenax.store.statements import sql

_LOCK_WAIT = "2s"
"""How long emptying waits for a lock that a session of the last test may have left."""


class TestDatabases:
    """Gives one database at a time. The database is made anew if a test has changed its schema or keeps it locked."""

    __test__ = False  # pytest takes it for a test otherwise

    def __init__(self, admin: Connection, url: str, run: str) -> None:
        self._admin = admin
        self._url = url
        self._run = run
        self._made = 0
        self._template: str | None = None
        self._current: str | None = None
        self._connection: Connection | None = None

    @classmethod
    async def open(cls, url: str) -> TestDatabases:
        """Connects to the server of this URL, and drops what earlier runs have left there when they were killed."""
        run = f"tenax_test_{uuid.uuid4().hex[:12]}"
        admin = await connect(url, application_name=run)
        for row in await admin.fetch(sql("find_abandoned_databases")):
            await _drop(admin, row["datname"])
        return cls(admin, url, run)

    async def take(self) -> tuple[str, bool]:
        """Returns the URL of an empty database, and whether it is the same one as before."""
        if self._connection is not None and await self._emptied():
            return self._url_of(self._current), True
        await self.drop_current()
        if self._template is None:
            self._template = await self._make_template()
        self._current = await self._create(self._template)
        self._connection = await self._connect(self._current)
        await self._connection.execute(f"set lock_timeout = '{_LOCK_WAIT}'")
        return self._url_of(self._current), False

    async def drop_current(self) -> None:
        current, self._current = self._current, None
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.terminate()
        if current is not None:
            await _drop(self._admin, current)

    async def close(self) -> None:
        """Drops all databases of this process."""
        await self.drop_current()
        if self._template is not None:
            await _drop(self._admin, self._template)
        await self._admin.close()

    async def _emptied(self) -> bool:
        try:
            assert self._connection is not None
            return await reset(self._connection)
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
            return False  # a session of the test holds a lock, or the connection was ended

    async def _make_template(self) -> str:
        name = await self._create("template1")
        connection = await self._connect(name)
        try:
            await migrate(connection)
            await install_reset(connection)
        finally:
            await connection.close()
        return name

    async def _create(self, template: str) -> str:
        name = f"{self._run}_{self._made}"
        self._made += 1
        # Copying files is faster than writing each page to the log, which is the default since PostgreSQL 15.
        quick = "strategy file_copy" if self._admin.get_server_version().major >= 15 else ""
        await self._admin.execute(f"create database {name} template {template} {quick}")
        return name

    async def _connect(self, name: str) -> Connection:
        return await connect(self._url_of(name), application_name=f"{self._run}_reset")

    def _url_of(self, name: str | None) -> str:
        parts = urlsplit(self._url)
        # `urlunsplit` leaves an empty address out, and the path would then become the address.
        return urlunsplit(parts._replace(netloc=parts.netloc or "@", path=f"/{name}"))


async def _drop(admin: Connection, name: str) -> None:
    await admin.execute(f"drop database if exists {name} with (force)")
