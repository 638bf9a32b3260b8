"""Columns of a batch as PostgreSQL takes them, at the least cost: the driver looks at each element of a list to see whether it is a
list itself, which for numbers costs more than all else that is done with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def column(values: Sequence[Any]) -> Sequence[str | None] | str | None:
    """Texts as they are, for `$1::text[]`; all else as one text, for `$1::text::bigint[]`; a column of nothing as null, which
    `unnest` fills up."""
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
    """JSON and the like, which has no line breaks: one text, for `string_to_array($1::text, E'\\n', '')`."""
    return "\n".join([value or "" for value in values]) if any(values) else None


def columns(*lists: Sequence[Any]) -> list[Sequence[str | None] | str | None]:
    return [column(values) for values in lists]
