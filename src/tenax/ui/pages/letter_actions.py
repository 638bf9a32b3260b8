"""Redrives and discards dead letters. Many are redriven by a bulk job."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from tenax.model.filters.letters import LetterFilter
from tenax.model.filters.parse import parse_letter_filter
from tenax.ui.answers import actor, answer_dialog, answer_done, engine
from tenax.ui.filter_form import selected
from tenax.ui.forms import read_form, required
from tenax.ui.pages.bulk_actions import new_form
from tenax.ui.pages.dead_letters import LIST, LetterId
from tenax.ui.words import query

router = APIRouter(prefix=LIST)
SHOWN = 3  # groups that the form of a discard names


@router.get("/chosen")
async def act_on_chosen(request: Request) -> Response:
    """Shows the form for the rows of the list that were chosen: to redrive them, or to discard them."""
    is_discard = request.query_params.get("action") == "discard"
    return await (discard_form(request) if is_discard else new_form(request))


@router.get("/discard")
async def discard_form(request: Request) -> Response:
    """Asks for the note, and says how many letters it is for: the rows that were chosen, or all that the filter selects."""
    text = selected(request.query_params)
    groups = await engine(request).letters.groups(LetterFilter(terms=parse_letter_filter(text)), limit=500)
    return answer_dialog(
        request,
        "letters/discard.html",
        title="Discard dead letters",
        filter=text,
        count=sum(one.count for one in groups),
        groups=groups[:SHOWN],
        others=len(groups) - SHOWN,
    )


@router.post("/discard")
async def discard_many(request: Request) -> Response:
    form = await read_form(request)
    text, note = required(form, "filter", "a filter"), required(form, "note", "a note")
    wanted = LetterFilter(terms=parse_letter_filter(text))
    done = await engine(request).letters.discard_matching(wanted, actor=actor(request), note=note)
    target = f"{LIST}{query(filter=text, discarded=done.changed)}"
    return answer_done(request, target)


@router.get("/{letter_id}/redrive")
async def redrive_form(request: Request, letter_id: LetterId) -> Response:
    return answer_dialog(request, "letters/redrive_one.html", title="Redrive a dead letter", id=letter_id)


@router.post("/{letter_id}/redrive")
async def redrive(request: Request, letter_id: LetterId) -> Response:
    reason = required(await read_form(request), "reason", "a reason")
    await engine(request).letters.redrive([letter_id], actor=actor(request), reason=reason)
    return answer_done(request, f"{LIST}/{letter_id}")


@router.get("/{letter_id}/discard")
async def discard_one_form(request: Request, letter_id: LetterId) -> Response:
    return answer_dialog(request, "letters/discard_one.html", title="Discard a dead letter", id=letter_id)


@router.post("/{letter_id}/discard")
async def discard_one(request: Request, letter_id: LetterId) -> Response:
    note = required(await read_form(request), "note", "a note")
    await engine(request).letters.discard([letter_id], actor=actor(request), note=note)
    return answer_done(request, f"{LIST}/{letter_id}")
