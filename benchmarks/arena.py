"""Provides one PostgreSQL with durable commits, and a fresh database on it for each round."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from benchmarks import gate
from benchmarks.children import Children
from benchmarks.raw import SCHEMA
from tenax.store.connect import connect
from tenax.store.embedded.server import EmbeddedPostgres
from tenax.store.migrate import migrate

_ARRIVAL_SECONDS = 60.0
_POLL_SECONDS = 0.05
_SETTLE_SECONDS = 600.0
_VACUUMED = """
select c.oid::regclass::text as name
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
 where c.relkind = 'r' and n.nspname not like 'pg\\_%' and n.nspname <> 'information_schema'
   and not coalesce(c.reloptions @> array['autovacuum_vacuum_insert_threshold=-1'], false)
"""


@dataclass(frozen=True, slots=True)
class Round:
    """Holds the empty database of a round with both schemas, its start gate, and its processes."""

    url: str
    gate: Path
    children: Children
    connection: Any
    """The connection of the bench, which fills the tables before and reads them afterwards."""

    async def all_at_gate(self, count: int) -> None:
        async with asyncio.timeout(_ARRIVAL_SECONDS):
            while gate.waiting(self.gate) < count:
                self.children.check()
                await asyncio.sleep(_POLL_SECONDS)

    async def all_registered(self, count: int) -> None:
        async with asyncio.timeout(_ARRIVAL_SECONDS):
            while True:
                self.children.check()
                if await self.connection.fetchval("select count(*) from tenax.worker") >= count:
                    return
                await asyncio.sleep(_POLL_SECONDS)

    async def settle(self) -> None:
        """Prepares the tables before the clock starts: analyzes them, and completes the writes of the filling."""
        await settle(self.connection)

    def open_gate(self) -> None:
        gate.open_gate(self.gate)

    async def until_none_open(self, seconds: float) -> float:
        """Waits for the end of all items. Returns the database's time at which none was left.

        It is late by one poll at most, which is an error to the disadvantage of Tenax.
        """
        async with asyncio.timeout(seconds):
            while True:
                self.children.check()
                open_, now = await self.connection.fetchrow(
                    # The youngest rows end last, and the other end of the table is full of dead rows.
                    "select (select id from tenax.item order by id desc limit 1), extract(epoch from clock_timestamp())"
                )
                if open_ is None:
                    return float(now)
                await asyncio.sleep(_POLL_SECONDS)


async def settle(connection: Any) -> None:
    """Vacuums the tables that autovacuum would. A table with an insert threshold of -1 is only analyzed."""
    tables = [row["name"] for row in await connection.fetch(_VACUUMED)]
    await connection.execute(f"vacuum analyze {', '.join(tables)}", timeout=_SETTLE_SECONDS)
    await connection.execute("analyze", timeout=_SETTLE_SECONDS)
    await connection.execute("checkpoint", timeout=_SETTLE_SECONDS)


class Arena:
    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.folder = folder
        self._run = uuid.uuid4().hex[:8]
        self._rounds = 0

    @contextlib.asynccontextmanager
    async def template(self) -> AsyncIterator[None]:
        """Provides a template database during the block, from which rounds are cloned."""
        name = self._template
        await self._execute(f"create database {name}")
        try:
            connection = await connect(self._with_database(name))
            await migrate(connection)
            await connection.execute(SCHEMA)
            await connection.close()
            yield
        finally:
            await self._execute(f"drop database if exists {name} with (force)")

    @contextlib.asynccontextmanager
    async def round(self) -> AsyncIterator[Round]:
        self._rounds += 1
        name = f"{self._template}_{self._rounds}"
        folder = self.folder / name
        (folder / "gate").mkdir(parents=True)
        await self._execute(f"create database {name} template {self._template}")
        url = self._with_database(name)
        try:
            connection = await connect(url)
            try:
                environment = {
                    "TENAX_DATABASE_URL": url,
                    gate.VARIABLE: str(folder / "gate"),
                    "TENAX_HOME": str(folder),
                    "TENAX_OPEN": "true",  # no request needs a token, as in earlier measurements
                }
                async with Children(folder, environment) as children:
                    yield Round(url, folder / "gate", children, connection)
            finally:
                await connection.close()
        finally:
            await self._execute(f"drop database if exists {name} with (force)")

    async def facts(self) -> dict[str, str]:
        """Returns the settings of PostgreSQL that matter for durable writes."""
        connection = await connect(self.url)
        try:
            names = [
                "server_version",
                "fsync",
                "synchronous_commit",
                "full_page_writes",
                "wal_sync_method",
                "shared_buffers",
            ]
            return {name: await connection.fetchval("select current_setting($1)", name) for name in names}
        finally:
            await connection.close()

    @property
    def _template(self) -> str:
        return f"tenax_bench_{self._run}"

    def _with_database(self, name: str) -> str:
        return urlunsplit(urlsplit(self.url)._replace(path=f"/{name}"))

    async def _execute(self, statement: str) -> None:
        connection = await connect(self.url)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()


@contextlib.contextmanager
def arena(database_url: str | None) -> Iterator[Arena]:
    """Opens an arena on the PostgreSQL of the URL, else on an embedded one that is made for the run and removed after it."""
    folder = Path(tempfile.mkdtemp(prefix="tenax-bench-"))
    folder.chmod(0o755)  # for root, PostgreSQL runs under another account
    os.environ["TENAX_HOME"] = str(
        folder
    )  # clients in this process must not use the token of the user's own server
    try:
        if database_url is not None:
            yield Arena(database_url, folder)
            return
        with EmbeddedPostgres(folder / "home") as postgres:
            yield Arena(postgres.ensure_running(), folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
