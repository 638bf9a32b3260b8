"""Migrates a database's schema by numbered files, in order and each in its own transaction. A released file is never edited."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

import asyncpg

from tenax.errors import Busy, SchemaOutdated, Unreachable
from tenax.store.connections.outages import GONE, is_connection_lost
from tenax.store.fill_letters import fill_letters

_FILE_NAME = re.compile(r"(\d{4})_[a-z0-9_]+\.sql")
_ADVISORY_LOCK = 0x74656E6178
"""`tenax` in ASCII. With this lock, servers that start at the same time migrate one after the other."""
_LOCK_WAIT = "60s"
_ONE_DAY = 86_400.0  # seconds

FILLS: Mapping[str, Callable[[asyncpg.Connection], Awaitable[None]]] = {"dead_letters": fill_letters}
"""Functions that fill a new table from the log, by the name of the migration without its number. It runs after the
file, in the
same transaction."""

_LIST = "select version, name, checksum from tenax.schema_migration order by version"
_RECORD = "insert into tenax.schema_migration (version, name, checksum) values ($1, $2, $3)"
_TABLE = """
create schema if not exists tenax;
create table if not exists tenax.schema_migration (
    version     integer primary key,
    name        text not null,
    checksum    text not null,
    applied_at  timestamptz not null default now()
)
"""


@dataclass(frozen=True, slots=True)
class Migration:
    version: int
    name: str
    """The file's name without its ending: `0001_initial`."""
    sql: str
    checksum: str


@dataclass(frozen=True, slots=True)
class MigrationStatus:
    """The state of a database's schema, compared with this version of Tenax."""

    current: int
    latest: int
    pending: tuple[str, ...]
    unknown: tuple[str, ...]
    """Migrations that the database has and this version does not: the database is newer."""
    edited: tuple[str, ...]
    """Applied migrations whose file has another content here."""


async def migrate(connection: asyncpg.Connection, folder: Traversable | None = None) -> list[str]:
    """Applies the missing migrations and returns their names. Many processes may call it at the same time."""
    known = load_migrations(folder)
    await _wait_for_others(connection)
    try:
        status = _compare(known, await _applied(connection))
        _refuse_strange(status)
        pending = [migration for migration in known if migration.name in status.pending]
        for migration in pending:
            await _apply(connection, migration)
        return [migration.name for migration in pending]
    finally:
        if not is_connection_lost(connection):
            await connection.execute("select pg_advisory_unlock($1)", _ADVISORY_LOCK)


async def _wait_for_others(connection: asyncpg.Connection) -> None:
    """Takes the lock. The session's own statement limit is as long as this wait, and would end it with
    another error."""
    await connection.execute(
        "select set_config('lock_timeout', $1, false), set_config('statement_timeout', '0', false)",
        _LOCK_WAIT,
    )
    try:
        await connection.execute("select pg_advisory_lock($1)", _ADVISORY_LOCK)
    except (asyncpg.LockNotAvailableError, asyncpg.QueryCanceledError, TimeoutError):
        raise Busy(
            f"another process has been migrating this database for {_LOCK_WAIT}",
            remedy="wait for it, or see pg_locks (locktype advisory) for who it is",
        ) from None
    finally:
        if not is_connection_lost(connection):
            await connection.execute("reset lock_timeout; reset statement_timeout")


async def status(connection: asyncpg.Connection, folder: Traversable | None = None) -> MigrationStatus:
    return _compare(load_migrations(folder), await _applied(connection))


async def require_current(connection: asyncpg.Connection, folder: Traversable | None = None) -> None:
    """Raises SchemaOutdated unless the schema is exactly the one that this version was written for."""
    found = await status(connection, folder)
    _refuse_strange(found)
    if found.pending:
        at = f"at version {found.current}" if found.current else "empty"
        raise SchemaOutdated(
            f"the database's schema is {at}, and this version of Tenax needs version {found.latest}",
            remedy="run: tenax db migrate",
        )


@cache
def latest_version() -> int:
    """Returns the version of the schema that this version of Tenax was written for."""
    return load_migrations()[-1].version


def load_migrations(folder: Traversable | None = None) -> tuple[Migration, ...]:
    folder = folder or files("tenax").joinpath("sql", "migrations")
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    found = [_load(folder.joinpath(name)) for name in names]
    if [migration.version for migration in found] != list(range(1, len(found) + 1)):
        raise ValueError(f"the migrations are not numbered 1, 2, 3 and so on: {', '.join(names)}")
    return tuple(found)


def _load(file: Traversable) -> Migration:
    match = _FILE_NAME.fullmatch(file.name)
    if match is None:
        raise ValueError(f"{file.name}: a migration is named like 0001_initial.sql")
    content = file.read_bytes()
    checksum = hashlib.sha256(content).hexdigest()
    return Migration(int(match[1]), file.name.removesuffix(".sql"), content.decode(), checksum)


async def _applied(connection: asyncpg.Connection) -> Mapping[int, tuple[str, str]]:
    """Returns name and checksum by version. A database that Tenax has never used has none."""
    if await connection.fetchval("select to_regclass('tenax.schema_migration')") is None:
        return {}
    return {row["version"]: (row["name"], row["checksum"]) for row in await connection.fetch(_LIST)}


def _compare(known: tuple[Migration, ...], applied: Mapping[int, tuple[str, str]]) -> MigrationStatus:
    versions = {migration.version for migration in known}
    return MigrationStatus(
        current=max(applied, default=0),
        latest=max(versions, default=0),
        pending=tuple(one.name for one in known if one.version not in applied),
        unknown=tuple(name for version, (name, _) in applied.items() if version not in versions),
        edited=tuple(
            one.name
            for one in known
            if one.version in applied and applied[one.version] != (one.name, one.checksum)
        ),
    )


def _refuse_strange(status: MigrationStatus) -> None:
    if status.unknown:
        raise SchemaOutdated(
            f"the database is newer than this version of Tenax: it has {', '.join(status.unknown)}, "
            f"and this version ends at {status.latest}",
            remedy="install the version of Tenax that the other servers run",
        )
    if status.edited:
        raise SchemaOutdated(
            f"the database has {', '.join(status.edited)} with another content than this version of Tenax",
            remedy="a landed migration is never edited: install a released version, or start with an empty database",
        )


async def _apply(connection: asyncpg.Connection, migration: Migration) -> None:
    try:
        async with connection.transaction():
            await connection.execute("set local statement_timeout = 0")
            await connection.execute(_TABLE)
            await connection.execute(migration.sql, timeout=_ONE_DAY)
            if (fill := FILLS.get(migration.name.partition("_")[2])) is not None:
                await fill(connection)
            await connection.execute(_RECORD, migration.version, migration.name, migration.checksum)
    except asyncpg.InsufficientPrivilegeError as error:
        role, database = await connection.fetchrow("select current_user, current_database()")
        raise Unreachable(
            f"role {role} may not do what {migration.name} needs in database {database}: {error}",
            remedy=f"GRANT CREATE ON DATABASE {database} TO {role}, or migrate as the owner of the database",
        ) from error
    except GONE:
        raise
    except asyncpg.PostgresError as error:
        raise SchemaOutdated(
            f"{migration.name} failed, and nothing of it was kept: {error}",
            remedy="the database may hold a schema `tenax` that is not ours: use another database",
        ) from error
