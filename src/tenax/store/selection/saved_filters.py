"""Reads and writes the filters that people saved by name."""

from __future__ import annotations

from collections.abc import Sequence

from tenax.model.events import timestamp
from tenax.model.filters.views import SavedFilter
from tenax.store.connect import Connection
from tenax.store.statements import sql


async def save_filter(tx: Connection, name: str, text: str, actor: str) -> bool:
    """Saves a filter under a name, in the place of an earlier one. Returns whether the name is new."""
    created: bool = await tx.fetchval(sql("save_filter"), name, text, actor)
    return created


async def list_filters(tx: Connection, names: Sequence[str] | None = None) -> list[SavedFilter]:
    """Lists the saved filters by name, all or those with these names."""
    return [
        SavedFilter(
            name=row["name"], filter=row["filter"], actor=row["actor"], saved_at=timestamp(row["saved_at"])
        )
        for row in await tx.fetch(sql("list_filters"), names)
    ]


async def count_filters(tx: Connection) -> int:
    number: int = await tx.fetchval(sql("count_filters"))
    return number


async def remove_filter(tx: Connection, name: str) -> bool:
    """Removes a saved filter. Returns False if there is none of this name."""
    return await tx.fetchval(sql("remove_filter"), name) is not None
