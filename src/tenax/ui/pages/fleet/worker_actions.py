"""Shows the forms of actions on a worker, and carries the actions out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from tenax.engine.engine import Engine
from tenax.errors import Conflict
from tenax.ui.answers import actor, answer_dialog, answer_done, engine
from tenax.ui.forms import read_form, required

Action = Literal["drain", "pause", "resume", "release"]
TEMPLATE = "fleet/action.html"
router = APIRouter(prefix="/workers")


@dataclass(frozen=True, slots=True)
class _Words:
    """Says what an action does, and why it may change nothing."""

    label: str
    text: str
    unchanged: str
    tone: str = "plain"


WORDS: Mapping[Action, _Words] = {
    "drain": _Words(
        "Drain",
        "It gets nothing new, finishes what it has, and ends.",
        "is draining already",
        tone="bad",
    ),
    "pause": _Words(
        "Pause",
        "It gets nothing new until it is resumed, also after a restart. What it has goes on.",
        "is paused already",
    ),
    "resume": _Words(
        "Resume",
        "It gets work again, and its failures are forgotten.",
        "is active and healthy already",
    ),
    "release": _Words(
        "Release the name",
        "The next worker that registers under this name gets it, with any token.",
        "has a free name already",
    ),
}


@router.get("/{name:path}/{action}/form")
async def form(request: Request, name: str, action: Action) -> Response:
    """Asks for the reason, in a dialog or on a page of its own."""
    words, address = WORDS[action], f"/workers/{quote(name)}"
    await engine(request).worker(name)
    title = f"{words.label}: worker {name}"
    return answer_dialog(
        request,
        TEMPLATE,
        title=title,
        address=f"{address}/{action}",
        back=address,
        submit=words.label,
        text=words.text,
        tone=words.tone,
    )


@router.post("/{name:path}/{action}")
async def act(request: Request, name: str, action: Action) -> Response:
    reason = required(await read_form(request), "reason", "a reason")
    if not await _operation(engine(request), action)(name, actor=actor(request), reason=reason):
        raise Conflict(
            f"worker {name} {WORDS[action].unchanged}", remedy="nothing is to be done: close this form"
        )
    return answer_done(request, f"/workers/{quote(name)}")


def _operation(of: Engine, action: Action) -> Callable[..., Awaitable[bool]]:
    match action:
        case "drain":
            return of.drain_worker
        case "pause":
            return of.pause_worker
        case "resume":
            return of.resume_worker
        case "release":
            return of.release_worker
