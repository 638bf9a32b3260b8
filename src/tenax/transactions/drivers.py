"""Calls a function of the database with the connection that the application has, whatever driver that is of.

A connection is recognised by the module of its type, so that no driver is imported that the application does not use.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tenax.errors import UsageError

Driver = Literal["asyncpg", "psycopg", "sqlalchemy", "django"]
SUPPORTED = "asyncpg, psycopg 3, SQLAlchemy 2 or Django"


@dataclass(frozen=True, slots=True)
class DriverCall:
    """Is a call of a function `tenax.NAME` with named arguments of these types. Arguments that are None are left out."""

    name: str
    arguments: Mapping[str, tuple[str, Any]]

    def statement(self, driver: Driver) -> tuple[str, dict[str, Any]]:
        """Returns the statement in the driver's form, and the values by their names in it."""
        given = {name: value for name, (_, value) in self.arguments.items() if value is not None}
        marks = {name: _mark(driver, name, place) for place, name in enumerate(given, 1)}
        terms = ", ".join(f"{name} => {_cast(marks[name], self.arguments[name][0])}" for name in given)
        return f"select tenax.{self.name}({terms})", given


def _mark(driver: Driver, name: str, place: int) -> str:
    match driver:
        case "asyncpg":
            return f"${place}"
        case "sqlalchemy":
            return f":{name}"
        case _:
            return "%s"


def _cast(mark: str, type_: str) -> str:
    """Casts JSON and UUIDs from text, since applications may have codecs of their own for these types."""
    return (
        f"cast(cast({mark} as text) as {type_})" if type_ in ("jsonb", "uuid") else f"cast({mark} as {type_})"
    )


async def call(connection: Any, function: DriverCall) -> Any:
    """Calls a function with a connection for asyncio. Returns its value."""
    driver = _driver_of(connection, wanted="async")
    statement, values = function.statement(driver)
    match driver:
        case "asyncpg":
            return await connection.fetchval(statement, *values.values())
        case "psycopg":
            async with connection.cursor(row_factory=_tuple_row()) as cursor:
                await cursor.execute(statement, tuple(values.values()))
                [value] = await cursor.fetchone()
                return value
        case _:
            return (await connection.execute(_text(statement), values)).scalar()


def call_sync(connection: Any, function: DriverCall) -> Any:
    """Calls a function with a connection that blocks. Returns its value."""
    driver = _driver_of(connection, wanted="sync")
    statement, values = function.statement(driver)
    match driver:
        case "psycopg":
            with connection.cursor(row_factory=_tuple_row()) as cursor:
                [value] = cursor.execute(statement, tuple(values.values())).fetchone()
                return value
        case "django":
            with connection.cursor() as cursor:
                cursor.execute(statement, tuple(values.values()))
                [value] = cursor.fetchone()
                return value
        case _:
            return connection.execute(_text(statement), values).scalar()


def _driver_of(connection: Any, *, wanted: Literal["async", "sync"]) -> Driver:
    """Recognises a connection. Raises UsageError for an unknown one, or one that must be used in the other way."""
    kind = type(connection)
    roots = {cls.__module__.partition(".")[0] for cls in kind.__mro__}
    found: Driver | None = None
    for driver in ("asyncpg", "psycopg", "sqlalchemy", "django"):
        if driver in roots:
            found = driver
    name = f"{kind.__module__}.{kind.__qualname__}"
    if found is None:
        raise UsageError(
            f"{name} is no connection of {SUPPORTED}",
            remedy="call the SQL function itself: docs/transactions.md",
        )
    if found == "django" and connection.vendor != "postgresql":
        raise UsageError(
            f"this connection of Django is one to {connection.vendor}",
            remedy="use the database of Tenax, a PostgreSQL",
        )
    is_async = found == "asyncpg" or (found != "django" and inspect.iscoroutinefunction(connection.execute))
    if is_async and wanted == "sync":
        raise UsageError(
            f"{name} is a connection for asyncio", remedy="await submit(...) or complete(...) with it"
        )
    if not is_async and wanted == "async":
        raise UsageError(
            f"{name} is a connection that blocks", remedy="use submit_sync(...) or complete_sync(...) with it"
        )
    return found


def _tuple_row() -> Any:
    from psycopg.rows import tuple_row  # the connection is of psycopg, so it is there

    return tuple_row


def _text(statement: str) -> Any:
    from sqlalchemy import text  # the connection is of SQLAlchemy, so it is there

    return text(statement)
