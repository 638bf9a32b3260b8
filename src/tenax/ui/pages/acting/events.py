"""Shows the event log of an execution, and single events of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, NamedTuple

from fastapi import APIRouter, Path, Query
from starlette.requests import Request
from starlette.responses import Response

from tenax.drawing.event_lines import EventWording
from tenax.engine.engine import Engine
from tenax.errors import UsageError
from tenax.model.durations import format_duration
from tenax.model.events import EVENT_TYPES
from tenax.model.execution_views import Event
from tenax.model.metrics.pages import EventPage
from tenax.model.source.findings import suggest
from tenax.store.fleet.tokens import LARGEST_ID
from tenax.ui.answers import answer_live, answer_page, dashboard, engine, render_blocks, visitor
from tenax.ui.live.topics import Subject
from tenax.ui.pages.acting.frame import FRAME, FRAME_BLOCKS, EventId, ExecutionId, StepName, frame
from tenax.ui.rendering import pretty
from tenax.ui.words import query, seconds_between

PAGE_SIZE = 50
MOST_INLINE = 4_000  # characters of an event's data in the log
MOST_SHOWN = 200_000  # characters of an event's data on its own page
EVERY = 15.0  # seconds after which the log is read again without news
TEMPLATE = "executions/events.html"
BLOCKS = ("waiting", "log")
router = APIRouter(prefix="/executions/{execution_id}/events")

Order = Literal["newest", "oldest"]
EventType = Annotated[str | None, Query(max_length=100)]


class LogAddress(NamedTuple):
    """Is what the address of a log says."""

    order: Order = "newest"
    step: str | None = None
    type: str | None = None
    before: int | None = None
    after: int | None = None

    @property
    def is_live(self) -> bool:
        """Returns whether the page shows the last events whatever happens."""
        return self.before is None and self.after is None and self.order == "newest"

    def query(self, **changed: Any) -> str:
        given = self._replace(**changed)
        order = None if given.order == "newest" else given.order
        return query(**{**given._asdict(), "order": order})


class EventLine(NamedTuple):
    """Is an event as the log shows it."""

    event: Event
    words: str
    since_start: str
    data: str
    left_out: int
    """The characters of its data that are not shown."""


@router.get("")
async def show(
    request: Request,
    execution_id: ExecutionId,
    order: Order = "newest",
    step: StepName = None,
    type: EventType = None,  # noqa: A002 -- its name in the address
    before: EventId = None,
    after: Annotated[int | None, Query(ge=0, le=LARGEST_ID)] = None,
) -> Response:
    """Shows a page of the log, from either end."""
    shown = LogAddress(order, step or None, type or None, before, after)
    values = await _values(engine(request), execution_id, shown)
    live = f"/executions/{execution_id}/events/live{shown.query()}" if shown.is_live else None
    return answer_page(request, TEMPLATE, live=live, **values)


@router.get("/live")
async def live(
    request: Request,
    execution_id: ExecutionId,
    step: StepName = None,
    type: EventType = None,  # noqa: A002 -- its name in the address
) -> Response:
    """Keeps the last page of the log up to date."""
    here, may_act = dashboard(request), visitor(request).may_act
    shown = LogAddress(step=step or None, type=type or None)

    async def render() -> dict[str, str]:
        values = await _values(here.engine, execution_id, shown)
        values |= {"may_act": may_act}
        return {
            **render_blocks(here, FRAME, FRAME_BLOCKS, values),
            **render_blocks(here, TEMPLATE, BLOCKS, values),
        }

    key = ("events", execution_id, shown, may_act)
    return answer_live(request, Subject(key, render, lambda: here.engine.changes(execution_id), every=EVERY))


@router.get("/{event_id}")
async def show_event(
    request: Request, execution_id: ExecutionId, event_id: Annotated[int, Path(ge=1, le=LARGEST_ID)]
) -> Response:
    """Shows one event with all of its data."""
    on = engine(request)
    event = await on.event(execution_id, event_id)
    execution = await on.get(execution_id)
    [line] = _lines([event], execution.created_at, MOST_SHOWN, from_start=False)
    values = await frame(on, execution, "Events")
    return answer_page(request, "executions/event.html", line=line, **values)


async def _values(on: Engine, execution_id: int, shown: LogAddress) -> dict[str, Any]:
    if shown.type is not None and shown.type not in EVENT_TYPES:
        raise UsageError(f"there is no type of event {shown.type!r}{suggest(shown.type, EVENT_TYPES)}")
    execution = await on.get(execution_id)
    page = await _read(on, execution_id, shown)
    from_start = not (shown.step or shown.type) and bool(page.events) and page.events[0].seq == 1
    lines = _lines(page.events, execution.created_at, MOST_INLINE, from_start=from_start)
    return {
        **await frame(on, execution, "Events"),
        "shown": shown,
        "lines": lines if shown.order == "oldest" else lines[::-1],
        "types": EVENT_TYPES,
        "looked_until": page.looked_until,
        **_turns(execution_id, page, shown),
    }


async def _read(on: Engine, execution_id: int, shown: LogAddress) -> EventPage:
    before, after = shown.before, shown.after
    if before is None and after is None and shown.order == "oldest":
        after = 0
    is_wanted = _wanted(shown)
    if is_wanted is None:
        return await on.event_page(execution_id, before=before, after=after, limit=PAGE_SIZE)
    return await on.find_events(execution_id, is_wanted, before=before, after=after, limit=PAGE_SIZE)


def _wanted(shown: LogAddress) -> Callable[[Event], bool] | None:
    if shown.step is None and shown.type is None:
        return None
    return lambda event: shown.step in (None, event.step) and shown.type in (None, event.type)


def _turns(execution_id: int, page: EventPage, shown: LogAddress) -> dict[str, str | None]:
    """Returns the addresses of the pages of older and of newer events."""
    here = f"/executions/{execution_id}/events"
    return {
        "older": None if page.older is None else here + shown.query(before=page.older, after=None),
        "newer": None if page.newer is None else here + shown.query(before=None, after=page.newer),
        "first": here + shown.query(before=None, after=None),
    }


def _lines(events: Sequence[Event], start: str, most: int, *, from_start: bool) -> list[EventLine]:
    wording = EventWording(from_start=from_start)
    lines = []
    for event in events:
        text = pretty(event.data) if event.data else ""
        since = f"+{format_duration(round(max(seconds_between(start, event.at), 0.0), 3))}"
        lines.append(EventLine(event, wording.words(event), since, text[:most], max(0, len(text) - most)))
    return lines
