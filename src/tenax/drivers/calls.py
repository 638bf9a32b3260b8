"""Writes the call of a function of the database in the form of each driver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Driver = Literal["asyncpg", "psycopg", "sqlalchemy", "django"]


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
