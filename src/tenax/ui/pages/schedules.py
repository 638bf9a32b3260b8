"""Lists schedules, shows one with its next ticks and what it did, and pauses, resumes and runs them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Path
from msgspec import to_builtins
from starlette.requests import Request
from starlette.responses import Response

from tenax.drawing.schedule_words import local_time, rules_words, run_words, times_words
from tenax.ui.answers import (
    actor,
    answer_dialog,
    answer_done,
    answer_live,
    answer_page,
    dashboard,
    engine,
    render_blocks,
    visitor,
)
from tenax.ui.dashboard import Dashboard
from tenax.ui.forms import read_form, required
from tenax.ui.live.topics import Subject

LIST = "/schedules"
EVERY = 5.0  # seconds after which the schedules are read again
TEMPLATE, ONE = "schedules/list.html", "schedules/show.html"
router = APIRouter(prefix=LIST)
Name = Annotated[str, Path(min_length=1, max_length=200, pattern=r"^[^\x00]*$")]
Action = Literal["pause", "resume", "run"]


@dataclass(frozen=True, slots=True)
class _Form:
    """Describes the form of an action. `{}` stands for the name of the schedule."""

    title: str
    submit: str
    text: str
    tone: str = "plain"


_FORMS: Mapping[Action, _Form] = {
    "pause": _Form(
        "Pause the schedule {}?",
        "Pause the schedule",
        "No tick starts an execution until it is resumed, and none of them is made up for. What runs goes on.",
        "bad",
    ),
    "resume": _Form(
        "Resume the schedule {}?",
        "Resume the schedule",
        "Its next tick is the first one from now on, and its failures are counted anew.",
    ),
    "run": _Form(
        "Run the schedule {} now?",
        "Run it now",
        "An execution starts now, also while another one runs. The ticks stay as they are.",
    ),
}


def address(name: str) -> str:
    return f"{LIST}/{quote(name, safe='')}"


@router.get("")
async def show_list(request: Request) -> Response:
    values = await _list_values(dashboard(request))
    return answer_page(request, TEMPLATE, title="Schedules", live=f"{LIST}/-/live", **values)


@router.get("/-/live")
async def live_list(request: Request) -> Response:
    here, may_act = dashboard(request), visitor(request).may_act

    async def render() -> dict[str, str]:
        values = await _list_values(here)
        return render_blocks(here, TEMPLATE, ["schedules"], values | {"may_act": may_act})

    return answer_live(request, Subject(("schedules", may_act), render, every=EVERY))


@router.get("/{name}")
async def show(request: Request, name: Name) -> Response:
    values = await _values(dashboard(request), name)
    return answer_page(request, ONE, title=f"Schedule {name}", live=f"{address(name)}/live", **values)


@router.get("/{name}/live")
async def live(request: Request, name: Name) -> Response:
    here, may_act = dashboard(request), visitor(request).may_act

    async def render() -> dict[str, str]:
        values = await _values(here, name)
        return render_blocks(here, ONE, ["schedule"], values | {"may_act": may_act})

    return answer_live(request, Subject(("schedule", name, may_act), render, every=EVERY))


@router.get("/{name}/{action}")
async def action_form(request: Request, name: Name, action: Action) -> Response:
    form = _FORMS[action]
    return answer_dialog(
        request,
        "schedules/act.html",
        title=form.title.format(name),
        form=form,
        here=address(name),
        action=action,
    )


@router.post("/{name}/{action}")
async def act(request: Request, name: Name, action: Action) -> Response:
    """Carries out an action on a schedule. A run leads to its execution."""
    reason = required(await read_form(request), "reason", "a reason")
    schedules = engine(request).schedules
    who = actor(request)
    match action:
        case "pause":
            await schedules.pause(name, actor=who, reason=reason)
        case "resume":
            await schedules.resume(name, actor=who, reason=reason)
        case "run":
            started = await schedules.run_now(name, actor=who, reason=reason)
            return answer_done(request, f"/executions/{started.execution_id}")
    return answer_done(request, address(name))


async def _list_values(here: Dashboard) -> dict[str, Any]:
    return {"schedules": [_shown(to_builtins(one)) for one in await here.engine.schedules.list()]}


async def _values(here: Dashboard, name: str) -> dict[str, Any]:
    found: dict[str, Any] = to_builtins(await here.engine.schedules.get(name))
    runs = [run | {"words": run_words(run)} for run in found["runs"]]
    ticks = [(tick, local_time(tick, found["schedule"])) for tick in found["next_ticks"]]
    return {"name": name, "one": _shown(found), "runs": runs, "ticks": ticks}


def _shown(one: dict[str, Any]) -> dict[str, Any]:
    words = {"times": times_words(one["schedule"]), "rules": ", ".join(rules_words(one["schedule"]))}
    return one | words | {"address": address(one["name"])}
