"""Lists the executions that a filter selects."""

from __future__ import annotations

from msgspec import structs

from tenax.engine.context import EngineContext
from tenax.engine.views.why_blocked import NOTHING, items_waiting_at
from tenax.errors import UsageError
from tenax.model.events import timestamp
from tenax.model.filters.parse import parse_filter
from tenax.model.filters.terms import Filter
from tenax.model.metrics.pages import ExecutionPage, StateCounts
from tenax.model.views import ExecutionSummary, Standing
from tenax.store.connect import Connection
from tenax.store.selection import saved_filters
from tenax.store.tables import executions
from tenax.store.tables.execution_pages import count_states, find_page

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


async def read_page(
    context: EngineContext, chosen: Filter, *, before: int | None, after: int | None, limit: int
) -> ExecutionPage:
    """Reads a page of the executions that a filter selects, in a bounded time: those before an execution, or those next
    after one. If the search stops before the page is full, the page says how far it has looked."""
    if before is not None and after is not None:
        raise UsageError("`before` and `after` exclude each other", remedy="give one of them")
    async with context.view() as tx:
        page = await find_page(tx, await expand(tx, chosen), before=before, after=after, limit=limit)
        telling = [item for _, item in page.found if item is not None]
        waiting_at = await items_waiting_at(tx, context.settings, telling)
    executions = [_standing(one, waiting_at.get(one.id, NOTHING)) for one, _ in page.found]
    newest, oldest = (executions[0].id, executions[-1].id) if executions else (None, None)
    is_full = len(executions) == limit
    if after is None:
        older = oldest if is_full else page.stopped
        newer = newest if before is not None else None
        if newer is None and before is not None:
            newer = before - 1
    else:
        newer = newest if is_full else page.stopped
        older = oldest if oldest is not None else after + 1
    return ExecutionPage(
        executions=executions,
        older=older,
        newer=newer,
        looked_until=timestamp(page.stopped_at),
    )


async def count_by_state(context: EngineContext, chosen: Filter) -> StateCounts:
    """Counts the executions that a filter selects by state. The numbers are exact up to some thousand executions."""
    async with context.view() as tx:
        return await count_states(tx, await expand(tx, chosen))


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
