"""Migrates the database, and prints its status or its URL."""

from __future__ import annotations

from typing import Any

from cyclopts import App

from tenax.cli.backend.protocol import run_async
from tenax.cli.flags import DEFAULT_DATABASE, DatabaseFlags, Json
from tenax.cli.output import print_json, say
from tenax.cli.process.home import announce_new_database
from tenax.credentials.passwords import without_password
from tenax.settings import Settings
from tenax.store import migrate as migrations
from tenax.store import service
from tenax.store.connect import Database
from tenax.store.connections.outages import using
from tenax.store.embedded.server import EmbeddedPostgres
from tenax.store.transaction import transaction

db = App(name="db", help="Migrate the database, or print its status or URL.")


@db.command
def migrate(*, json: Json = False, store: DatabaseFlags = DEFAULT_DATABASE) -> None:
    """Migrate the schema to the version that this Tenax needs. The embedded database is migrated automatically."""
    if not json:
        announce_new_database(store.settings())
    applied, version = run_async(_migrated(store.settings()))
    if json:
        print_json({"applied": applied, "version": version})
    elif applied:
        say("\n".join(f"applied {name}" for name in applied))
    else:
        say(f"the schema is current (version {version}): nothing to do")


async def _migrated(settings: Settings) -> tuple[list[str], int]:
    async with (
        Database.open(settings, max_size=1, check_schema=False) as database,
        using(database.pool.acquire()) as connection,
    ):
        applied = await migrations.migrate(connection)
        return applied, (await migrations.status(connection)).current


@db.command
def status(*, json: Json = False, store: DatabaseFlags = DEFAULT_DATABASE) -> None:
    """Print the database, its size, and whether its schema fits this version of Tenax."""
    if not json:
        announce_new_database(store.settings())
    found = run_async(_status(store.settings()))
    if json:
        print_json(found)
        return
    for name, value in found.items():
        say(f"{name.replace('_', ' '):<18}{_shown(name, value)}")


def _shown(name: str, value: Any) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case list():
            return ", ".join(value) or "none"
        case int() if name == "size":
            return f"{value / 1_000_000:.1f} MB"
        case _:
            return str(value)


async def _status(settings: Settings) -> dict[str, Any]:
    embedded = settings.database_url is None
    running = embedded and EmbeddedPostgres(settings.home).status().ready
    async with Database.open(settings, max_size=1, check_schema=False) as database:
        async with transaction(database) as connection:
            schema = await migrations.status(connection)
            size, version = await service.describe_database(connection)
        url = without_password(database.url)
    fits = not (schema.pending or schema.unknown or schema.edited)
    return {
        "url": url,
        "embedded": embedded,
        # Reading the status starts the embedded database, so this was read before: whether another process uses it.
        "running": running if embedded else True,
        "postgresql": version,
        "size": size,
        "schema": "current" if fits else ("pending" if schema.pending else "unknown"),
        "schema_version": schema.current,
        "latest_version": schema.latest,
        "pending": list(schema.pending),
        "unknown": list(schema.unknown),
        "edited": list(schema.edited),
    }


@db.command
def url(*, json: Json = False, store: DatabaseFlags = DEFAULT_DATABASE) -> None:
    """Print the URL of the database that commands use. psql can use it while a process keeps the database running.

    A password in the URL is printed too.
    """
    settings = store.settings()
    embedded = settings.database_url is None
    if not json:
        announce_new_database(settings)
    found = settings.database_url or run_async(_embedded_url(settings))
    if json:
        print_json({"url": found, "embedded": embedded})
    else:
        say(found)


async def _embedded_url(settings: Settings) -> str:
    """Returns the URL. The path of the socket is only known while the database runs, so it is started if necessary."""
    known = EmbeddedPostgres(settings.home).status().url
    if known is not None:
        return known
    async with Database.open(settings, max_size=1) as database:
        return database.url
