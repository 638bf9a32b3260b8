"""Encodes the columns of a batch for PostgreSQL at the least cost.

The driver checks whether each element of a list is itself a list. For numbers this costs more than all other work on them, so a column of
numbers is sent as one text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def column(values: Sequence[Any]) -> Sequence[str | None] | str | None:
    """Encodes a column. Texts stay a list, for `$1::text[]`. Other values become one text, for `$1::text::bigint[]`. A
    column without values becomes null, which `unnest` extends."""
    if len(values) == 1 and not isinstance(values[0], str):
        return None if values[0] is None else f"{{{values[0]}}}"
    missing = values.count(None)
    if missing == len(values):
        return None
    if isinstance(values[0] if missing == 0 else next(v for v in values if v is not None), str):
        return values
    text = ",".join(map(str, values))
    return f"{{{text.replace('None', 'NULL') if missing else text}}}"


def lines(values: Sequence[str | None]) -> str | None:
    """Joins texts without line breaks, such as JSON, to one text for `string_to_array($1::text, E'\
    ', '')`.
    """
    return "\n".join([value or "" for value in values]) if any(values) else None


def attributes(rows: Sequence[Any], *names: str) -> list[list[Any]]:
    """Returns a list for each of these attributes, with its values of all rows."""
    return [[getattr(row, name) for row in rows] for name in names]


def columns(*lists: Sequence[Any]) -> list[Sequence[str | None] | str | None]:
    return [column(values) for values in lists]
