"""Runs PostgreSQL for the tests of a run, and makes their databases: clones of a template, some of which are emptied and used again."""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import tempfile
import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from support.recorded.declared_events import log_faults
from tenax.store.embedded.binaries import Installation
from tenax.store.embedded.server import EmbeddedPostgres
from tenax.store.for_tests.reset import end_other_sessions, install_reset, reset
from tenax.store.migrate import migrate

MIGRATED = "template_for_tests"
"""The template that has the schema of this version."""
EMPTY = "template0"
_IN_MEMORY = Path("/dev/shm")
_MIN_FREE = 4 * 2**30  # bytes that must be free in memory before databases are put there
_OPTIONS = {
    # Nothing here outlives the run, so nothing needs to survive a power cut.
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    # Files of emptied tables stay until the next checkpoint.
    "checkpoint_timeout": "30s",
    # Statistics collected at random times would give the statements of a test other plans in each run.
    "autovacuum": "off",
    "max_connections": "200",
}


def folder_for_databases() -> Path:
    """Returns the folder for files that do not outlive the run. It is in memory, where there is room for it."""
    if os.access(_IN_MEMORY, os.W_OK) and shutil.disk_usage(_IN_MEMORY).free > _MIN_FREE:
        return _IN_MEMORY
    return Path(tempfile.gettempdir())


def remove_leftovers(place: Path, prefix: str) -> None:
    """Removes the folders of runs that were killed: `PREFIX-PID-...`, where no process has that id."""
    for folder in place.glob(f"{prefix}-*-*"):
        pid = folder.name.removeprefix(f"{prefix}-").partition("-")[0]
        if not Path(f"/proc/{pid}").exists():
            shutil.rmtree(folder, ignore_errors=True)


def make_open(folder: Path) -> Path:
    """Makes a folder that other accounts can enter."""
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    folder.chmod(0o755)
    return folder


def system_installation() -> Installation | None:
    """Returns the newest PostgreSQL that Debian has installed, or None."""
    found = [path for path in Path("/usr/lib/postgresql").glob("*/bin/initdb") if path.parts[-3].isdigit()]
    roots = sorted((path.parent.parent for path in found), key=lambda root: int(root.name))
    return Installation(int(roots[-1].name), roots[-1]) if roots else None


class Server:
    """Is a PostgreSQL that the processes of a run share, as one of them sees it."""

    def __init__(self, url: str, runner: asyncio.Runner, admin: asyncpg.Connection) -> None:
        self.url = url
        self._runner = runner
        self._admin = admin
        self._idle: list[tuple[str, asyncpg.Connection]] = []
        """Emptied databases, each with the connection by which it is emptied."""

    @contextmanager
    def own_database(self, template: str = MIGRATED, *, odd_log: bool = False) -> Iterator[str]:
        """Makes a database that nobody uses after the block, and gives its URL."""
        name = self._create(template)
        yield self._url_of(name)
        faults = [] if odd_log else self._runner.run(_in_database(self._url_of(name), log_faults))
        self._drop(name)
        assert faults == [], f"events do not conform to their declarations: {faults[:5]}"

    @contextmanager
    def reused_database(self, *, odd_log: bool = False) -> Iterator[str]:
        """Gives a migrated database that is emptied after the block, for the next test. One whose schema was changed is dropped."""
        name, connection = self._idle.pop() if self._idle else self._prepare()
        yield self._url_of(name)
        if not self._runner.run(_is_open(connection)):
            connection = self._runner.run(asyncpg.connect(self._url_of(name)))
        faults, as_it_was = self._runner.run(_reset(connection, odd_log=odd_log))
        if as_it_was:
            self._idle.append((name, connection))
        else:
            self._runner.run(connection.close())
            self._drop(name)
        assert faults == [], f"events do not conform to their declarations: {faults[:5]}"

    def close(self) -> None:
        for name, connection in self._idle:
            self._runner.run(connection.close())
            self._drop(name)

    def _create(self, template: str) -> str:
        name = f"test_{uuid.uuid4().hex[:16]}"
        self._runner.run(
            self._admin.execute(f"create database {name} template {template} strategy file_copy")
        )
        return name

    def _prepare(self) -> tuple[str, asyncpg.Connection]:
        name = self._create(MIGRATED)
        connection = self._runner.run(asyncpg.connect(self._url_of(name)))
        self._runner.run(install_reset(connection))
        return name, connection

    def _drop(self, name: str) -> None:
        self._runner.run(self._admin.execute(f"drop database {name} with (force)"))

    def _url_of(self, name: str) -> str:
        return _with_database(self.url, name)


@contextmanager
def serve(home: Path, installation: Installation | None) -> Iterator[Server]:
    """Runs the PostgreSQL of this folder as long as any process is in this block. The first process makes the template."""
    embedded = EmbeddedPostgres(home, installations=installation and [installation], options=_OPTIONS)
    with embedded, asyncio.Runner() as runner:
        url = embedded.ensure_running()
        with (home / "template.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            runner.run(_make_template(url))
        admin = runner.run(asyncpg.connect(url))
        try:
            server = Server(url, runner, admin)
            yield server
            server.close()
        finally:
            runner.run(admin.close())


async def _make_template(url: str) -> None:
    admin = await asyncpg.connect(url)
    try:
        if await admin.fetchval("select 1 from pg_database where datname = $1 and datistemplate", MIGRATED):
            return
        await admin.execute(f"drop database if exists {MIGRATED}")
        await admin.execute(f"create database {MIGRATED}")
        connection = await asyncpg.connect(_with_database(url, MIGRATED))
        await migrate(connection)
        await connection.close()
        await admin.execute(f"alter database {MIGRATED} is_template true")
    finally:
        await admin.close()


async def _is_open(connection: asyncpg.Connection) -> bool:
    """Returns whether this session is still open. A test may have ended all sessions."""
    try:
        await connection.execute("select 1")
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
        return False
    return True


async def _reset(connection: asyncpg.Connection, *, odd_log: bool) -> tuple[list[str], bool]:
    """Empties a database. Returns the faults of its log, and whether its schema is unchanged."""
    await end_other_sessions(connection)
    faults = [] if odd_log else await log_faults(connection)
    return faults, await reset(connection)


async def _in_database(url: str, work: Callable[[asyncpg.Connection], Awaitable[Any]]) -> Any:
    connection = await asyncpg.connect(url)
    try:
        return await work(connection)
    finally:
        await connection.close()


def _with_database(url: str, name: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}", netloc="tenax@"))
