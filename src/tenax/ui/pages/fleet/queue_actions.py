"""Shows the forms of actions on a queue, and carries the actions out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from tenax.errors import Conflict, UsageError
from tenax.model.fleet.queue_limits import parse_rate, rate_words
from tenax.ui.answers import actor, answer_dialog, answer_done, engine
from tenax.ui.forms import read_form, required

TEMPLATE = "fleet/action.html"
router = APIRouter(prefix="/queues")
Action = Literal["pause", "resume"]
TEXTS: Mapping[Action, str] = {
    "pause": "None of its items starts until it is resumed. What runs goes on.",
    "resume": "Its items start again, as its workers and its limits allow.",
}


@router.get("/{name}/limits/form")
async def limits_form(request: Request, name: str) -> Response:
    found = next((one for one in await engine(request).queues() if one.queue == name), None)
    limits = {
        "concurrency": "" if found is None or found.concurrency is None else found.concurrency,
        "rate": "" if found is None or found.rate is None else rate_words(found.rate),
        "burst": "" if found is None or found.burst is None else found.burst,
    }
    text = "They hold for the whole fleet, from now on. An empty field is no limit."
    return _dialog(request, name, "limits", "Set the limits", text, limits=limits)


@router.get("/{name}/{action}/form")
async def form(request: Request, name: str, action: Action) -> Response:
    """Asks for the reason, in a dialog or on a page of its own."""
    return _dialog(request, name, action, action.capitalize(), TEXTS[action])


@router.post("/{name}/limits")
async def limit(request: Request, name: str) -> Response:
    form = await read_form(request)
    await engine(request).limit_queue(
        name,
        concurrency=_whole(form, "concurrency"),
        rate=_rate(form),
        burst=_whole(form, "burst"),
        actor=actor(request),
        reason=required(form, "reason", "a reason"),
    )
    return answer_done(request, f"/queues/{name}")


@router.post("/{name}/{action}")
async def act(request: Request, name: str, action: Action) -> Response:
    reason = required(await read_form(request), "reason", "a reason")
    of = engine(request)
    operation = of.pause_queue if action == "pause" else of.resume_queue
    if not await operation(name, actor=actor(request), reason=reason):
        state = "paused already" if action == "pause" else "not paused"
        raise Conflict(f"the queue {name} is {state}", remedy="nothing is to be done: close this form")
    return answer_done(request, f"/queues/{name}")


def _dialog(request: Request, name: str, action: str, submit: str, text: str, **more: Any) -> Response:
    return answer_dialog(
        request,
        TEMPLATE,
        title=f"{submit}: queue {name}",
        address=f"/queues/{name}/{action}",
        back=f"/queues/{name}",
        submit=submit,
        text=text,
        tone="bad" if action == "pause" else "plain",
        **more,
    )


def _whole(form: Mapping[str, str], name: str) -> int | None:
    text = form.get(name, "").strip().replace(",", "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit()):
        raise UsageError(
            f"{name}: {text[:40]!r} is no whole number",
            remedy="write one such as 20, or leave the field empty",
        )
    return int(text)


def _rate(form: Mapping[str, str]) -> float | None:
    text = form.get("rate", "").strip().replace(",", "")
    return parse_rate("rate", text) if text else None
