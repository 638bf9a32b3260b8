"""Shows dead letters: by their cause, as a list, and one with the history of its item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Path, Query
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tenax.drawing.figures.sparkline import draw_sparkline
from tenax.errors import TenaxError, UsageError
from tenax.model.filters.letters import LetterFilter
from tenax.model.filters.parse import MAX_LENGTH, parse_letter_filter
from tenax.model.filters.terms import Filter, Match, Words
from tenax.model.letters.fingerprint import shape_of
from tenax.model.letters.views import LetterGroup
from tenax.store.fleet.tokens import LARGEST_ID
from tenax.ui.answers import HEADERS, answer_live, answer_page, dashboard, engine, render_blocks, visitor
from tenax.ui.dashboard import Dashboard
from tenax.ui.filter_form import letter_form, text_of_fields
from tenax.ui.live.topics import Subject
from tenax.ui.words import first_line, query

PAGE_SIZE = 50
MOST_GROUPS = 30
SPANS = 32  # spans of a trend
LONGEST_TREND, LONG_TREND, SHORTEST_TREND = timedelta(days=14), timedelta(days=1), timedelta(hours=1)
RULES = "\nRules looked at"
"""The line of an explanation from which on it is folded."""
LONGEST_LINE = 300  # characters of a line of an explanation that is not folded
EVERY = 10.0  # seconds after which a list is read again without news
LIST = "/dead-letters"
TEMPLATE = "letters/list.html"
router = APIRouter(prefix=LIST)

FilterText = Annotated[str, Query(max_length=MAX_LENGTH)]
Group = Annotated[str, Query(pattern=r"^[0-9a-f]{0,16}$")]
LetterId = Annotated[int, Path(ge=1, le=LARGEST_ID)]
Before = Annotated[int | None, Query(ge=1, le=LARGEST_ID)]


@dataclass(frozen=True, slots=True)
class GroupRow:
    """Is a row of the groups."""

    group: LetterGroup
    shape: str
    trend: Markup
    selects: str
    """The filter of all letters of the group that the page means."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Is what the address of the page asks for."""

    filter: str
    group: str
    view: str
    before: int | None

    @property
    def is_list(self) -> bool:
        return self.view == "letters" or bool(self.group)

    @property
    def wanted(self) -> LetterFilter:
        return LetterFilter(fingerprint=self.group or None, terms=parse_letter_filter(self.filter))

    @property
    def selects(self) -> str:
        """Returns the filter of the letters as text, with the group."""
        terms = parse_letter_filter(self.filter)
        return str(terms & _in_group(self.group)) if self.group else str(terms)


@router.get("")
async def show(
    request: Request,
    filter: FilterText = "",  # noqa: A002 -- its name in the address
    group: Group = "",
    view: str = "",
    before: Before = None,
    discarded: Annotated[int | None, Query(ge=0, le=LARGEST_ID)] = None,
    fields: bool = False,  # noqa: FBT001, FBT002 -- a parameter of the address
) -> Response:
    """Shows the groups, or the letters of a group, or those that a filter selects. A wrong filter is shown beside its field."""
    asked, error = Asked(filter, group, view, before), None
    try:
        found = await _values(dashboard(request), asked)
    except TenaxError as wrong:
        if wrong.http_status not in (400, 404):
            raise
        error, found = wrong, _nothing(asked)
    address = f"{LIST}/live{query(filter=filter, group=group, view=view)}"
    return answer_page(
        request,
        TEMPLATE,
        status=200 if error is None else error.http_status,
        title="Dead letters",
        live=address if before is None and error is None else None,
        error=None if error is None else error.problem(),
        form=letter_form(_read(filter), filter),
        has_fields=fields,
        discarded=discarded,
        keep={"group": group, "view": view},
        **found,
    )


@router.get("/filter")
async def apply_fields(request: Request, group: Group = "", view: str = "") -> Response:
    """Leads to the page with the filter that the fields of the form describe."""
    text = text_of_fields(request.query_params.multi_items())
    return RedirectResponse(
        f"{LIST}{query(filter=text, group=group, view=view, fields=1)}", 303, headers=HEADERS
    )


@router.get("/live")
async def live(
    request: Request,
    filter: FilterText = "",  # noqa: A002 -- its name in the address
    group: Group = "",
    view: str = "",
) -> Response:
    """Keeps the groups, or the first page of the letters, up to date."""
    here, may_act = dashboard(request), visitor(request).may_act
    asked = Asked(filter, group, view, None)
    parse_letter_filter(filter)

    async def render() -> dict[str, str]:
        values = await _values(here, asked)
        return render_blocks(here, TEMPLATE, ["letters"], values | {"may_act": may_act})

    return answer_live(
        request, Subject(("letters", asked, may_act), render, here.engine.changes, every=EVERY)
    )


@router.get("/{letter_id}")
async def show_letter(request: Request, letter_id: LetterId) -> Response:
    """Shows one letter."""
    values = await _letter_values(dashboard(request), letter_id)
    return answer_page(
        request, "letters/one.html", title=f"Dead letter {letter_id}", live=f"{LIST}/{letter_id}/live", **values
    )  # fmt: skip


@router.get("/{letter_id}/live")
async def live_letter(request: Request, letter_id: LetterId) -> Response:
    """Keeps one letter up to date."""
    here, may_act = dashboard(request), visitor(request).may_act
    letter = await engine(request).letters.get(letter_id)

    async def render() -> dict[str, str]:
        values = await _letter_values(here, letter_id)
        return render_blocks(here, "letters/one.html", ["letter"], values | {"may_act": may_act})

    subject = Subject(
        ("letter", letter_id, may_act), render, lambda: here.engine.changes(letter.execution_id), every=EVERY
    )
    return answer_live(request, subject)


async def _letter_values(here: Dashboard, letter_id: int) -> dict[str, Any]:
    letter = await here.engine.letters.get(letter_id)
    text = "" if letter.explanation is None else letter.explanation.text
    lines = text.partition(RULES)[0].splitlines()
    address = f"/executions/{letter.execution_id}/steps/{quote(letter.step, safe='')}"
    return {
        "letter": letter,
        "explained": "\n".join(first_line(one, LONGEST_LINE) for one in lines),
        "step_address": address if letter.item is None else f"{address}/items/{letter.item}",
    }


async def _values(here: Dashboard, asked: Asked) -> dict[str, Any]:
    values = _nothing(asked) | {"selects": asked.selects}
    letters = here.engine.letters
    if not asked.is_list:
        return values | {"groups": await _groups(here, asked.wanted, MOST_GROUPS)}
    found = list(await letters.list(asked.wanted, before=asked.before, limit=PAGE_SIZE + 1))
    own = await _groups(here, asked.wanted, 1) if asked.group else []
    shown = found[:PAGE_SIZE]
    older = shown[-1].id if len(found) > PAGE_SIZE else None
    return values | {"letters": shown, "older": older, "own_group": own[0] if own else None}


def _nothing(asked: Asked) -> dict[str, Any]:
    return {
        "filter": asked.filter,
        "group": asked.group,
        "is_list": asked.is_list,
        "view": asked.view,
        "is_first": asked.before is None,
        "selects": "",
        "letters": [],
        "groups": [],
        "most_groups": MOST_GROUPS,
        "own_group": None,
        "older": None,
    }


async def _groups(here: Dashboard, wanted: LetterFilter, most: int) -> list[GroupRow]:
    letters = here.engine.letters
    found = await letters.groups(wanted, limit=most)
    if not found:
        return []
    since = _trend_start(found)
    statuses = wanted.all_statuses
    trends = await letters.recent_trends(
        [one.fingerprint for one in found], since=since, spans=SPANS, statuses=statuses
    )
    counts = {one.fingerprint: one.counts for one in trends}
    return [_row(one, counts[one.fingerprint], since, wanted) for one in found]


def _row(one: LetterGroup, counts: Sequence[int], since: datetime, wanted: LetterFilter) -> GroupRow:
    name = f"Letters since {since:%Y-%m-%d %H:%M}"
    drawn = draw_sparkline(counts, name=name, width=96, height=24)
    selects = str(wanted.terms & _in_group(one.fingerprint)) if not wanted.fingerprint else str(wanted.terms)
    return GroupRow(one, shape_of(one.example), Markup(drawn), selects)  # noqa: S704 -- the drawing escapes


def _in_group(fingerprint: str) -> Filter:
    return Filter((Words("fingerprint", (Match(fingerprint),)),))


def _trend_start(found: Sequence[LetterGroup]) -> datetime:
    """Returns when the trends begin: with the first failure of a group, but neither long ago nor just now. It is a full
    minute or hour, so that it stays the same for a while."""
    now = datetime.now(UTC)
    first = min(datetime.fromisoformat(one.first_at) for one in found)
    start = max(min(first, now - SHORTEST_TREND), now - LONGEST_TREND).replace(second=0, microsecond=0)
    return start if now - start < LONG_TREND else start.replace(minute=0)


def _read(text: str) -> Filter | None:
    try:
        return parse_letter_filter(text)
    except UsageError:
        return None
