"""Lists executions, the newest first, and keeps the first page of the list up to date."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from tenax.errors import TenaxError
from tenax.model.filters.parse import MAX_LENGTH, parse_filter
from tenax.store.fleet.tokens import LARGEST_ID
from tenax.ui.answers import answer_live, answer_page, dashboard, render_blocks, visitor
from tenax.ui.dashboard import Dashboard
from tenax.ui.live.topics import Subject
from tenax.ui.words import query

PAGE_SIZE = 50
EVERY = (
    10.0  # seconds after which the list is read again without news: a message of another server may be lost
)
TEMPLATE = "executions/list.html"
router = APIRouter(prefix="/executions")

FilterText = Annotated[str, Query(max_length=MAX_LENGTH)]
Before = Annotated[int | None, Query(ge=1, le=LARGEST_ID)]


@router.get("")
async def show(request: Request, filter: FilterText = "", before: Before = None) -> Response:  # noqa: A002 -- its name in the address
    """Shows one page of the list. A wrong filter is shown beside its field, with the list empty."""
    error: TenaxError | None = None
    try:
        found = await _values(dashboard(request), filter, before)
    except TenaxError as wrong:
        if wrong.http_status not in (400, 404):
            raise
        error, found = wrong, {"filter": filter, "before": before, "executions": [], "older": None}
    live = f"/executions/live{query(filter=filter)}" if before is None and error is None else None
    status = 200 if error is None else error.http_status
    problem = None if error is None else error.problem()
    return answer_page(
        request, TEMPLATE, status=status, title="Executions", live=live, error=problem, **found
    )


@router.get("/live")
async def live(request: Request, filter: FilterText = "") -> Response:  # noqa: A002 -- its name in the address
    """Keeps the first page of the list up to date."""
    here, may_act = dashboard(request), visitor(request).may_act
    parse_filter(filter)

    async def render() -> dict[str, str]:
        values = await _values(here, filter, None)
        return render_blocks(here, TEMPLATE, ["executions"], values | {"may_act": may_act})

    key = ("executions", filter, may_act)
    return answer_live(request, Subject(key, render, here.engine.changes, every=EVERY))


async def _values(here: Dashboard, filter_text: str, before: int | None) -> dict[str, Any]:
    found = await here.engine.list(parse_filter(filter_text), before=before, limit=PAGE_SIZE + 1)
    shown = found[:PAGE_SIZE]
    older = shown[-1].id if len(found) > PAGE_SIZE else None
    return {"filter": filter_text, "before": before, "executions": shown, "older": older}
