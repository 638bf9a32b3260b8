"""Lists executions, the newest first, and keeps the first page of the list up to date."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tenax.errors import TenaxError, UsageError
from tenax.model.filters.fields import FIELDS
from tenax.model.filters.parse import MAX_LENGTH, parse_filter
from tenax.model.filters.terms import Filter
from tenax.model.metrics.pages import ExecutionPage, StateCounts
from tenax.store.fleet.tokens import LARGEST_ID
from tenax.ui.answers import HEADERS, answer_live, answer_page, dashboard, render_blocks, visitor
from tenax.ui.dashboard import Dashboard
from tenax.ui.filter_form import execution_form, text_of_fields, with_status, without_status
from tenax.ui.live.topics import Subject
from tenax.ui.words import query

PAGE_SIZE = 50
EVERY = (
    10.0  # seconds after which the list is read again without news: a message of another server may be lost
)
LIST = "/executions"
TEMPLATE = "executions/list.html"
STATES = FIELDS["status"].choices
NO_PAGE = ExecutionPage(executions=[], older=None, newer=None, looked_until=None)
router = APIRouter(prefix=LIST)

FilterText = Annotated[str, Query(max_length=MAX_LENGTH)]
Place = Annotated[int | None, Query(ge=1, le=LARGEST_ID)]


@dataclass(frozen=True, slots=True)
class Tab:
    """Is a link to the executions of one state."""

    name: str
    address: str
    count: str
    """Empty if they are not counted."""
    is_current: bool


@router.get("")
async def show(
    request: Request,
    filter: FilterText = "",  # noqa: A002 -- its name in the address
    before: Place = None,
    after: Place = None,
    fields: bool = False,  # noqa: FBT001, FBT002 -- a parameter of the address
) -> Response:
    """Shows one page of the list. A wrong filter is shown beside its field, with the list empty. `fields` shows the fields."""
    here, error = dashboard(request), None
    try:
        found = await _values(here, filter, before, after)
    except TenaxError as wrong:
        if wrong.http_status not in (400, 404):
            raise
        error = wrong
        found = {"page": NO_PAGE, "tabs": tabs(Filter(), None), "filter": filter, "is_first": True}
    live = f"{LIST}/live{query(filter=filter)}" if found["is_first"] and error is None else None
    return answer_page(
        request,
        TEMPLATE,
        status=200 if error is None else error.http_status,
        title="Executions",
        live=live,
        error=None if error is None else error.problem(),
        form=execution_form(_read(filter), filter),
        has_fields=fields,
        views=await here.engine.filters.list(),
        **found,
    )


@router.get("/filter")
async def apply_fields(request: Request) -> Response:
    """Leads to the list with the filter that the fields of the form describe."""
    text = text_of_fields(request.query_params.multi_items())
    return RedirectResponse(f"{LIST}{query(filter=text, fields=1)}", 303, headers=HEADERS)


@router.get("/live")
async def live(request: Request, filter: FilterText = "") -> Response:  # noqa: A002 -- its name in the address
    """Keeps the first page of the list up to date."""
    here, may_act = dashboard(request), visitor(request).may_act
    parse_filter(filter)

    async def render() -> dict[str, str]:
        values = await _values(here, filter, None, None)
        return render_blocks(here, TEMPLATE, ["states", "executions"], values | {"may_act": may_act})

    key = ("executions", filter, may_act)
    return answer_live(request, Subject(key, render, here.engine.changes, every=EVERY))


async def _values(here: Dashboard, filter_text: str, before: int | None, after: int | None) -> dict[str, Any]:
    chosen = parse_filter(filter_text)
    page = await here.engine.page(chosen, before=before, after=after, limit=PAGE_SIZE)
    counts = await here.engine.count(without_status(chosen))
    return {
        "page": page,
        "tabs": tabs(chosen, counts),
        "filter": filter_text,
        "is_first": before is None and after is None,
    }


def tabs(chosen: Filter, counts: StateCounts | None) -> list[Tab]:
    """Returns a link for all states and one for each, with the counts of the executions that the rest of the filter selects."""
    text = str(chosen)
    made = [
        Tab("all", f"{LIST}{query(filter=with_status(chosen, None))}", "", without_status(chosen) == chosen)
    ]
    for state in STATES:
        own = with_status(chosen, state)
        made.append(Tab(state, f"{LIST}{query(filter=own)}", _count(state, counts), own == text))
    return made


def _count(state: str, counts: StateCounts | None) -> str:
    if counts is None or state not in counts.counts:
        return ""
    return f"{counts.counts[state]:,}{'+' if state in counts.at_least else ''}"


def _read(text: str) -> Filter | None:
    try:
        return parse_filter(text)
    except UsageError:
        return None
