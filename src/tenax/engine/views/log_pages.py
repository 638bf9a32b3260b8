"""Views of a log too long to be shown whole: a page of events in either direction, those of a kind, and a single event."""

from __future__ import annotations

from collections.abc import Callable

from tenax.engine.context import EngineContext, unknown_execution
from tenax.engine.views.view_room import ViewRoom
from tenax.errors import NotFound, UsageError
from tenax.model.execution_views import Event
from tenax.model.metrics.pages import EventPage
from tenax.store.tables import executions
from tenax.store.tables.log import get_event_page

MOST_EVENTS = 500  # events of a page
MOST_LOOKED = 2000  # events that one search looks at


async def read_event_page(
    context: EngineContext,
    execution_id: int,
    *,
    before: int | None = None,
    after: int | None = None,
    limit: int = 100,
) -> EventPage:
    """Reads the events of an execution next before an event, or next after one, in their order. Without either, the
    last ones. Large values that do not fit a view are left out."""
    if before is not None and after is not None:
        raise UsageError("`before` and `after` exclude each other", remedy="give one of them")
    async with context.view() as tx:
        page = await get_event_page(
            tx, execution_id, before=before, after=after, limit=min(limit, MOST_EVENTS)
        )
        if not page.events and await executions.get_execution(tx, execution_id) is None:
            raise await unknown_execution(tx, execution_id)
    room = ViewRoom(context.settings.max_rendered)
    for event in page.events:
        room.fit(event)
    return page


async def find_events(
    context: EngineContext,
    execution_id: int,
    is_wanted: Callable[[Event], bool],
    *,
    before: int | None = None,
    after: int | None = None,
    limit: int = 100,
) -> EventPage:
    """Searches the events before an event, or after one, for those that are wanted. Looks at a bounded number of them."""
    found: list[Event] = []
    looked, edge = 0, before if after is None else after
    while True:
        page = await read_event_page(context, execution_id, before=before, after=after, limit=MOST_EVENTS)
        wanted = [e for e in page.events if is_wanted(e)]
        found = [*found, *wanted] if after is not None else [*wanted, *found]
        looked += len(page.events)
        further = page.older if after is None else page.newer
        if further is None or len(found) >= limit or looked >= MOST_LOOKED:
            break
        before, after = (further, None) if after is None else (None, further)
    if after is None:
        return _page_before(page, found, limit, edge)
    return _page_after(page, found, limit, edge)


def _page_before(last: EventPage, found: list[Event], limit: int, edge: int | None) -> EventPage:
    """Returns the last of the events that were found before `edge`. `last` is the page that was looked at last."""
    shown = found[-limit:]
    newer = None if edge is None else shown[-1].id if shown else edge - 1
    if len(found) >= limit:
        older = shown[0].id if len(found) > limit else last.older
        return EventPage(events=shown, older=older, newer=newer)
    looked_until = last.events[0].at if last.older is not None and last.events else None
    return EventPage(events=shown, older=last.older, newer=newer, looked_until=looked_until)


def _page_after(last: EventPage, found: list[Event], limit: int, edge: int | None) -> EventPage:
    """Returns the first of the events that were found after `edge`. `last` is the page that was looked at last."""
    shown = found[:limit]
    older = None if not edge else shown[0].id if shown else edge + 1
    if len(found) >= limit:
        newer = shown[-1].id if len(found) > limit else last.newer
        return EventPage(events=shown, older=older, newer=newer)
    looked_until = last.events[-1].at if last.newer is not None and last.events else None
    return EventPage(events=shown, older=older, newer=last.newer, looked_until=looked_until)


async def read_event(context: EngineContext, execution_id: int, event_id: int) -> Event:
    """Returns one event of an execution in full, by its id."""
    async with context.view() as tx:
        page = await get_event_page(tx, execution_id, before=None, after=event_id - 1, limit=1)
    if not page.events or page.events[0].id != event_id:
        raise NotFound(f"execution {execution_id} has no event {event_id}")
    return page.events[0]
