"""Shows the overview of the whole system, and keeps it up to date."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from tenax.ui.answers import answer_live, answer_page, dashboard, render_blocks
from tenax.ui.dashboard import Dashboard
from tenax.ui.live.topics import Subject
from tenax.ui.pages.overview.failing import filter_of, shown_groups
from tenax.ui.pages.overview.firing import History, firing_alerts
from tenax.ui.pages.overview.key_figures import key_figures, lines_of
from tenax.ui.pages.overview.ranges import DEFAULT_RANGE, WORDS, Range
from tenax.ui.pages.overview.readings import read_overview
from tenax.ui.words import query

EVERY = (
    1.0  # seconds after which the page is rendered again. What it shows is read more seldom, see `live.kept`
)
TEMPLATE = "overview/overview.html"
BLOCKS = ("as_of", "alerts", "figures", "charts", "failing", "groups", "returns", "fleet")
router = APIRouter()
live_router = APIRouter(prefix="/overview")
Chosen = Annotated[Range, Query(alias="range")]


@router.get("/")
async def show(request: Request, chosen: Chosen = DEFAULT_RANGE) -> Response:
    values = await _values(dashboard(request), chosen)
    return answer_page(
        request, TEMPLATE, title="Overview", live=f"/overview/live{query(range=chosen)}", **values
    )


@live_router.get("/live")
async def live(request: Request, chosen: Chosen = DEFAULT_RANGE) -> Response:
    """Keeps the overview up to date: one rendering for all who look at the same range."""
    here = dashboard(request)

    async def render() -> dict[str, str]:
        return render_blocks(here, TEMPLATE, BLOCKS, await _values(here, chosen))

    return answer_live(request, Subject(("overview", chosen), render, here.readings.changes, every=EVERY))


async def _values(here: Dashboard, chosen: Range) -> dict[str, Any]:
    found = await read_overview(here, chosen)
    now, series = found.now, found.series
    ready = [one for one in now.queues if one.ready] if now else []
    settings = here.engine.context.settings
    history = now and History(found.recent, now.workers, settings.metrics_window, settings.alert_min_attempts)
    return {
        "range": chosen,
        "ranges": WORDS,
        "at": found.at and found.at.isoformat(),
        "now": now,
        "window_seconds": settings.metrics_window,
        "firing": firing_alerts(now.alerts, history) if now and history else [],
        "key": key_figures(series) if series else None,
        "lines": lines_of(series) if series else None,
        "states": found.states,
        "returns": found.returns,
        "backlog": found.backlog,
        "ready": sum(one.ready for one in ready),
        "oldest_at": min((one.oldest_at for one in ready if one.oldest_at), default=None),
        "failing": [(one, filter_of(one)) for one in now.groups] if now else None,
        "groups": None if found.failures is None else shown_groups(found.failures),
    }
