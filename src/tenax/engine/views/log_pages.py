"""Views of a log too long to be shown whole: a page of events in either direction, and a single event."""

from __future__ import annotations

from tenax.engine.context import EngineContext, no_execution
from tenax.engine.views.view_room import ViewRoom
from tenax.errors import NotFound, UsageError
from tenax.model.execution_views import Event
from tenax.model.metrics.pages import EventPage
from tenax.store.tables import executions
from tenax.store.tables.log import get_event_page

MOST_EVENTS = 500  # events of a page


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
            raise no_execution(execution_id)
    room = ViewRoom(context.settings.max_rendered)
    for event in page.events:
        room.fit(event)
    return page


async def read_event(context: EngineContext, execution_id: int, event_id: int) -> Event:
    """Returns one event of an execution in full, by its id."""
    async with context.view() as tx:
        page = await get_event_page(tx, execution_id, before=None, after=event_id - 1, limit=1)
    if not page.events or page.events[0].id != event_id:
        raise NotFound(f"execution {execution_id} has no event {event_id}")
    return page.events[0]
