"""Lists the executions that a filter selects."""

from __future__ import annotations

from msgspec import structs

from tenax.engine.context import EngineContext
from tenax.engine.views.why_blocked import NOTHING, items_waiting_at
from tenax.errors import UsageError
from tenax.model.filters.parse import parse_filter
from tenax.model.filters.terms import Filter
from tenax.model.views import ExecutionSummary, Standing
from tenax.store.connect import Connection
from tenax.store.selection import saved_filters
from tenax.store.tables import executions

MAX_EXPANDED = 16_000  # characters of the saved filters that a filter names


async def list_summaries(
    context: EngineContext, chosen: Filter, *, before: int | None = None, limit: int = 50
) -> list[ExecutionSummary]:
    """Lists the executions that a filter selects, the newest first, and why each open one waits."""
    async with context.view() as tx:
        found = await executions.list_executions(tx, await expand(tx, chosen), before=before, limit=limit)
        telling = [item for _, item in found if item is not None]
        waiting_at = await items_waiting_at(tx, context.settings, telling)
    return [_standing(one, waiting_at.get(one.id, NOTHING)) for one, _ in found]


async def expand(tx: Connection, chosen: Filter) -> Filter:
    """Returns the filter with the terms of saved filters in the place of their names. Raises NotFound if a name is not
    known."""
    if not (names := chosen.saved_names):
        return chosen
    found = await saved_filters.list_filters(tx, names)
    by_name = {one.name: len(one.filter) for one in found}
    if (length := sum(by_name.get(name, 0) for name in names)) > MAX_EXPANDED:
        raise UsageError(
            f"the saved filters that it names have {length:,} characters, and {MAX_EXPANDED:,} are allowed",
            remedy="name fewer of them",
        )
    return chosen.expanded({one.name: parse_filter(one.filter) for one in found})


def _standing(one: ExecutionSummary, at: Standing) -> ExecutionSummary:
    if one.waiting is None:
        return one
    waiting = structs.replace(one.waiting, unserved=at.unserved, limited=at.limited)
    return structs.replace(one, waiting=waiting)
