"""Connects to PostgreSQL: a pool with our session settings, and clear errors for failed connections."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

import asyncpg

from tenax.errors import DatabaseAway, Unreachable, UsageError
from tenax.settings import Settings
from tenax.store.connections.database_wait import COMMAND_SECONDS, DatabaseWait
from tenax.store.connections.outages import GONE, using
from tenax.store.connections.planned_pool import PLANNED_SESSION, PlannedPool
from tenax.store.embedded.server import EmbeddedPostgres
from tenax.store.migrate import migrate, require_current

Connection: TypeAlias = asyncpg.Connection
Pool: TypeAlias = asyncpg.Pool

OLDEST_MAJOR = 14  # oldest supported major version of PostgreSQL

_CONNECT_SECONDS = 10.0  # limit for opening a connection
_COMMAND_SECONDS = 90.0
"""Seconds beyond the server's own limit below, for a server that no longer answers at all."""
_SESSION = {
    "jit": "off",
    "random_page_cost": "1.1",  # the live rows are in memory: without it small tables are read whole for each batch
    "timezone": "UTC",
    "plan_cache_mode": "force_custom_plan",
    "statement_timeout": "60s",
    "lock_timeout": "30s",
    "idle_in_transaction_session_timeout": "10s",
}
_UNREADABLE = "the database URL cannot be read; percent-encode special characters in the password"
_CHECK_URL = "check the database URL (TENAX_DATABASE_URL or --database)"


async def connect(
    database_url: str,
    *,
    application_name: str = "tenax",
    session: Mapping[str, str] = MappingProxyType({}),
    **more: Any,
) -> Connection:
    """Opens a connection with our session settings and those of `session`. Values of type jsonb are sent as text both
    ways."""
    try:
        return await asyncpg.connect(
            database_url,
            timeout=_CONNECT_SECONDS,
            command_timeout=_COMMAND_SECONDS,
            server_settings={**_SESSION, **session, "application_name": application_name},
            **more,
        )
    except (*GONE, asyncpg.PostgresError, asyncpg.InterfaceError, ValueError, OverflowError) as error:
        explained = _explained(error, database_url)
        # An unreadable URL may contain a piece of the password, and asyncpg and urllib quote what they cannot read.
        raise explained from None if isinstance(explained, UsageError) else error


async def open_pool(database_url: str, *, min_size: int = 1, max_size: int = 8, **more: Any) -> Pool:
    """Opens a pool. Raises Unreachable if PostgreSQL is too old."""
    pool = _pool(database_url, min_size, max_size, **more)
    try:
        await pool
        async with using(pool.acquire()) as connection:
            _check_version(connection)
    except BaseException:
        pool.terminate()
        raise
    return pool


def _pool(
    database_url: str,
    min_size: int,
    max_size: int,
    *,
    revive: Callable[[], Awaitable[str]] | None = None,
    **more: Any,
) -> Pool:
    """Creates a pool. `revive` is explained in `_connecting`, and `more` goes to `connect`."""
    return asyncpg.create_pool(
        min_size=min_size,
        max_size=max_size,
        connect=_connecting(database_url, revive, **more),
        reset=_nothing_to_reset,
    )


def _connecting(
    database_url: str, revive: Callable[[], Awaitable[str]] | None, **more: Any
) -> Callable[..., Awaitable[Connection]]:
    """Returns a function that opens connections. If it cannot, it calls `revive` once and tries again with the URL that
    `revive` returns."""

    async def connected(*_: Any, **own: Any) -> Connection:
        nonlocal database_url
        try:
            return await connect(database_url, **more, **own)
        except Unreachable:
            if revive is None:
                raise
        database_url = await revive()
        return await connect(database_url, **more, **own)

    return connected


async def _nothing_to_reset(_connection: Connection) -> None:
    """Does nothing. The usual reset of a session would cost a round trip, and no session keeps state that must be reset."""


class Database:
    """Is the database that this process works on: its pools and, if it is embedded, the hold on its server."""

    def __init__(
        self,
        settings: Settings,
        url: str,
        pool: Pool,
        planned_pool: PlannedPool,
        embedded: EmbeddedPostgres | None,
        wait_for: DatabaseWait,
    ) -> None:
        self.settings = settings
        self.url = url
        self.pool = pool
        self.planned_pool = planned_pool
        self.embedded = embedded
        self.wait_for = wait_for
        """Runs work and waits for the database if it is away. It is for the time until the process serves requests.
        """

    @classmethod
    @contextlib.asynccontextmanager
    async def open(cls, settings: Settings, **more: Any) -> AsyncIterator[Database]:
        """Opens the database of these settings for the block, and checks that its schema fits this version."""
        database = await cls.connected(settings, **more)
        try:
            yield database
        finally:
            await database.close()

    @classmethod
    async def connected(
        cls,
        settings: Settings,
        *,
        min_size: int = 1,
        max_size: int = 8,
        application_name: str = "tenax",
        check_schema: bool = True,
        wait_for: DatabaseWait | None = None,
    ) -> Database:
        """Opens the database for callers that close it themselves.

        The embedded database is migrated. Any other database has an owner who migrates it (`check_schema=False` is for
        that command). Without `wait_for` it waits as long as a command does.
        """
        wait_for = wait_for or DatabaseWait(_first(settings.database_wait, COMMAND_SECONDS))
        embedded = None if settings.database_url else EmbeddedPostgres(settings.home)
        url = settings.database_url or await _acquired(embedded)
        try:
            revive = _revive(embedded) if embedded else None
            sizes = {"min_size": min_size, "max_size": max_size}
            pool = await wait_for(
                lambda: open_pool(url, **sizes, application_name=application_name, revive=revive)
            )
            connect_planned = _connecting(
                url, revive, application_name=application_name, session=PLANNED_SESSION
            )
            database = cls(settings, url, pool, PlannedPool(connect_planned), embedded, wait_for)
        except BaseException:
            if embedded:
                embedded.release()
            raise
        try:
            await wait_for(lambda: database._fit_schema(check_schema))
        except BaseException:
            await database.close()
            raise
        return database

    async def connect(self, *, application_name: str = "tenax") -> Connection:
        """Opens a connection outside the pools, for LISTEN and for session locks. The caller closes it."""
        if self.embedded:
            self.url = await asyncio.to_thread(self.embedded.ensure_running)
        return await connect(self.url, application_name=application_name)

    async def look_after(self) -> None:
        """Makes sure that the embedded server will end with its last user, whatever is killed. Call it from time to
        time."""
        if self.embedded:
            await asyncio.to_thread(self.embedded.look_after)

    async def close(self, *, seconds: float = 5.0) -> None:
        """Closes the pools, by force after this many seconds, and releases the embedded server."""
        try:
            async with asyncio.timeout(seconds):
                await self.planned_pool.close()
                await self.pool.close()
        except Exception:  # noqa: BLE001 -- late, or over a broken link: the pools are not used again
            self.planned_pool.terminate()
            self.pool.terminate()
        finally:
            if self.embedded:
                await asyncio.to_thread(self.embedded.release)

    async def _fit_schema(self, check: bool) -> None:  # noqa: FBT001 private, named at its only call
        async with using(self.pool.acquire()) as connection:
            if self.embedded:
                await migrate(connection)
            elif check:
                await require_current(connection)


def _first(given: float | None, default: float) -> float:
    return default if given is None else given


async def _acquired(embedded: EmbeddedPostgres | None) -> str:
    assert embedded is not None
    return await asyncio.to_thread(embedded.acquire)


def _revive(embedded: EmbeddedPostgres) -> Callable[[], Awaitable[str]]:
    return lambda: asyncio.to_thread(embedded.ensure_running)


def _check_version(connection: Connection) -> None:
    if connection.get_server_version().major < OLDEST_MAJOR:
        raise Unreachable(
            f"PostgreSQL {connection.get_settings().server_version} is too old: Tenax needs {OLDEST_MAJOR} or newer",
            remedy="use a newer PostgreSQL, or no database URL at all: Tenax then brings its own",
        )


def _explained(error: Exception, database_url: str) -> Unreachable | UsageError:
    """Returns the error of a failed connection in words, without the password that the URL may contain."""
    if (parts := _parts(database_url)) is None:
        return _unreadable()
    where, user, name = _address(parts), unquote(parts.username or ""), unquote(parts.path.lstrip("/"))
    match error:
        case asyncpg.InvalidPasswordError() | asyncpg.InvalidAuthorizationSpecificationError():
            return Unreachable(
                f"PostgreSQL at {where} refuses user {user or '(none given)'}: {error}", remedy=_CHECK_URL
            )
        case asyncpg.InvalidCatalogNameError():
            return Unreachable(
                f"PostgreSQL at {where} has no database {name}",
                remedy=f"create it (createdb {name}), or {_CHECK_URL}",
            )
        case asyncpg.TooManyConnectionsError():
            return DatabaseAway(
                f"PostgreSQL at {where} has no connection left: {error}",
                remedy="raise max_connections, or run fewer servers",
            )
        case asyncpg.CannotConnectNowError():
            return DatabaseAway(
                f"PostgreSQL at {where} takes no connections now: {error}", remedy="try again in a moment"
            )
        case asyncpg.PostgresError() if not isinstance(error, GONE):
            return Unreachable(f"PostgreSQL at {where} refuses the connection: {error}", remedy=_CHECK_URL)
        case TimeoutError():
            return DatabaseAway(
                f"PostgreSQL at {where} did not answer within {_CONNECT_SECONDS:g} s",
                remedy=f"is it up, and not behind a firewall? Else {_CHECK_URL}",
            )
        case socket.gaierror():
            return DatabaseAway(f"there is no host {where}: {error.strerror}", remedy=_CHECK_URL)
        case OSError():
            return DatabaseAway(
                f"no PostgreSQL answers at {where}: {error.strerror or error}",
                remedy=f"start it, or {_CHECK_URL}",
            )
        case ValueError() | OverflowError():
            return _unreadable()
        case _:
            return DatabaseAway(
                f"the connection to PostgreSQL at {where} broke while it was made: {error or type(error).__name__}",
                remedy="try again in a moment",
            )


def _unreadable() -> UsageError:
    return UsageError(
        _UNREADABLE, remedy=f"it looks like postgresql://user:password@host:5432/name: {_CHECK_URL}"
    )


def _parts(database_url: str) -> SplitResult | None:
    """Splits a URL. Returns None if it is no URL, or if a bare `/`, `?` or `#` in the password seems to have cut it: a
    piece of the password would then look like an address or a name."""
    try:
        parts = urlsplit(database_url)
    except ValueError:
        return None
    is_cut = "@" not in parts.netloc and ":" in parts.netloc and "@" in f"{parts.path}{parts.fragment}"
    return None if is_cut else parts


def _address(parts: SplitResult) -> str:
    host = parse_qs(parts.query).get("host", [""])[0]
    if not host and "@" not in parts.netloc and "@" in parts.query:
        return "the address of the URL"  # or a piece of a password with a bare question mark
    return host or parts.netloc.rpartition("@")[2] or "the default address"
