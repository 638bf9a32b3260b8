"""Saves filters of executions under a name, and removes them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from starlette.requests import Request
from starlette.responses import Response

from tenax.model.filters.parse import MAX_NAME
from tenax.ui.answers import actor, answer_dialog, answer_done, engine
from tenax.ui.forms import read_form, required
from tenax.ui.pages.executions import LIST, FilterText
from tenax.ui.words import query

router = APIRouter(prefix=f"{LIST}/views")
Name = Annotated[str, Path(max_length=MAX_NAME)]


@router.get("/new")
async def save_form(request: Request, filter: FilterText = "") -> Response:  # noqa: A002 -- its name in the address
    """Asks for the name of a view."""
    return answer_dialog(request, "executions/save_view.html", title="Save a view", filter=filter)


@router.post("/new")
async def save(request: Request) -> Response:
    form = await read_form(request)
    name, reason = required(form, "name", "a name"), required(form, "reason", "a reason")
    await engine(request).filters.save(name, form.get("filter", ""), actor=actor(request), reason=reason)
    return answer_done(request, f"{LIST}{query(filter=f'@{name}')}")


@router.get("/{name}/remove")
async def remove_form(request: Request, name: Name) -> Response:
    return answer_dialog(request, "executions/remove_view.html", title="Remove a view", name=name)


@router.post("/{name}/remove")
async def remove(request: Request, name: Name) -> Response:
    reason = required(await read_form(request), "reason", "a reason")
    await engine(request).filters.remove(name, actor=actor(request), reason=reason)
    return answer_done(request, LIST)
