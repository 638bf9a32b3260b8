"""Lists the workflows with their figures, and keeps the list up to date."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from tenax.ui.answers import answer_live, answer_page, dashboard, render_blocks, visitor
from tenax.ui.dashboard import Dashboard
from tenax.ui.live.topics import Subject
from tenax.ui.words import query

PAGE_SIZE = 50
MOST_ACTIONS = 200  # actions of packs that are listed
EVERY = 10.0  # seconds after which the figures are read again
TEMPLATE = "workflows/list.html"
router = APIRouter(prefix="/workflows")
Text = Annotated[str, Query(max_length=200, pattern=r"^[^\x00]*$")]


@router.get("")
async def show(request: Request, name: Text = "", after: Text = "") -> Response:
    values = await _values(dashboard(request), name.strip(), after)
    live = f"/workflows/-/live{query(name=name, after=after)}"
    return answer_page(request, TEMPLATE, title="Workflows", live=live, **values)


@router.get("/-/live")
async def live(request: Request, name: Text = "", after: Text = "") -> Response:
    here, may_act = dashboard(request), visitor(request).may_act

    async def render() -> dict[str, str]:
        values = await _values(here, name.strip(), after)
        return render_blocks(here, TEMPLATE, ["workflows"], values | {"may_act": may_act})

    return answer_live(request, Subject(("workflows", name, after, may_act), render, every=EVERY))


async def _values(here: Dashboard, name: str, after: str) -> dict[str, Any]:
    page = await here.engine.workflow_page(after=after or None, limit=PAGE_SIZE, containing=name or None)
    actions = [] if after else await here.engine.packs.actions()
    fitting = [one for one in actions if name.lower() in one.ref.lower()]
    return {
        "name": name,
        "after": after,
        "page": page,
        "actions": fitting[:MOST_ACTIONS],
        "more_actions": max(len(fitting) - MOST_ACTIONS, 0),
    }
