"""Opens a transaction with each supported driver, and hides their differences from the tests."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from typing import Any
from urllib.parse import parse_qs, urlsplit

import asyncpg
import django
import psycopg
from asgiref.sync import sync_to_async
from django.conf import settings
from psycopg.rows import dict_row
from sqlalchemy import create_engine, text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session


class RolledBack(Exception):
    """Ends a transaction by a rollback."""


Opened = AbstractAsyncContextManager[Any]
Driver = Callable[[str], Opened]


@asynccontextmanager
async def with_asyncpg(url: str) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction():
            yield connection
    finally:
        await connection.close()


@asynccontextmanager
async def with_asyncpg_pool(url: str) -> AsyncIterator[Any]:
    async with (
        asyncpg.create_pool(url, min_size=1, max_size=1) as pool,
        pool.acquire() as connection,
        connection.transaction(),
    ):
        yield connection


@asynccontextmanager
async def with_psycopg(url: str) -> AsyncIterator[Any]:
    async with await psycopg.AsyncConnection.connect(url, row_factory=dict_row) as connection:
        yield connection


@asynccontextmanager
async def with_psycopg_sync(url: str) -> AsyncIterator[Any]:
    with psycopg.connect(url) as connection:
        yield connection


def _sqlalchemy(url: str, driver: str) -> str:
    return url.replace("postgresql://", f"postgresql+{driver}://", 1)


@asynccontextmanager
async def with_sqlalchemy(url: str) -> AsyncIterator[Any]:
    engine = create_async_engine(_sqlalchemy(url, "psycopg"))
    try:
        async with engine.begin() as connection:
            yield connection
    finally:
        await engine.dispose()


@asynccontextmanager
async def with_sqlalchemy_session(url: str) -> AsyncIterator[Any]:
    engine = create_async_engine("postgresql+asyncpg://", async_creator=lambda: asyncpg.connect(url))
    try:
        async with AsyncSession(engine) as session, session.begin():
            yield session
    finally:
        await engine.dispose()


@asynccontextmanager
async def with_sqlalchemy_sync(url: str) -> AsyncIterator[Any]:
    engine = create_engine(_sqlalchemy(url, "psycopg"))
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


@asynccontextmanager
async def with_sqlalchemy_session_sync(url: str) -> AsyncIterator[Any]:
    engine = create_engine(_sqlalchemy(url, "psycopg"))
    try:
        with Session(engine) as session, session.begin():
            yield session
    finally:
        engine.dispose()


def _django_database(url: str) -> dict[str, Any]:
    parts = urlsplit(url)
    query = parse_qs(parts.query)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parts.path.removeprefix("/"),
        "USER": parts.username or query.get("user", [""])[0],
        "PASSWORD": parts.password or "",
        "HOST": query.get("host", [parts.hostname or ""])[0],
        "PORT": str(parts.port or query.get("port", [""])[0]),
    }


@contextmanager
def atomic(url: str) -> Iterator[Any]:
    """Opens `transaction.atomic` of Django with a connection of this thread."""
    if not settings.configured:
        settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "NAME": "none"}})
        django.setup()
    from django.db import connections, transaction

    connections.settings["tenax"] = connections.configure_settings(
        {"default": {}, "tenax": _django_database(url)}
    )["tenax"]
    try:
        with transaction.atomic(using="tenax"):
            yield connections["tenax"]
    finally:
        connections["tenax"].close()
        del connections["tenax"]


ASYNC: dict[str, Driver] = {
    "asyncpg": with_asyncpg,
    "asyncpg pool": with_asyncpg_pool,
    "psycopg": with_psycopg,
    "SQLAlchemy AsyncConnection": with_sqlalchemy,
    "SQLAlchemy AsyncSession": with_sqlalchemy_session,
}
SYNC: dict[str, Driver] = {
    "psycopg": with_psycopg_sync,
    "SQLAlchemy Connection": with_sqlalchemy_sync,
    "SQLAlchemy Session": with_sqlalchemy_session_sync,
}


async def roll_back(opened: Opened, work: Callable[[Any], Any]) -> None:
    """Does work in a transaction and rolls it back."""
    with suppress(RolledBack):
        async with opened as connection:
            await insert(connection, "never")
            done = work(connection)
            if inspect.isawaitable(done):
                await done
            raise RolledBack


async def insert(connection: Any, what: str) -> None:
    """Writes a row of the application."""
    statement: Any = f"insert into public.effect (attempt) values ('{what}')"
    root = {kind.__module__.partition(".")[0] for kind in type(connection).__mro__}
    done = connection.execute(text(statement) if "sqlalchemy" in root else statement)
    if inspect.isawaitable(done):
        await done


async def in_thread(work: Callable[[], Any]) -> Any:
    """Runs work in a thread of its own, as Django wants it."""
    call: Callable[[], Awaitable[Any]] = sync_to_async(work, thread_sensitive=False)
    return await call()
