"""Shows the forms that pause and resume a workflow, and carries them out."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from tenax.ui.answers import actor, answer_dialog, answer_done, engine
from tenax.ui.forms import read_form, required
from tenax.ui.pages.workflows.showing import Name, address

router = APIRouter(prefix="/workflows/{name}")
TEMPLATE = "workflows/pause.html"


@router.get("/pause")
async def pause_form(request: Request, name: Name) -> Response:
    return answer_dialog(request, TEMPLATE, title=f"Pause {name}", name=name, here=address(name), pauses=True)


@router.get("/resume")
async def resume_form(request: Request, name: Name) -> Response:
    return answer_dialog(
        request, TEMPLATE, title=f"Resume {name}", name=name, here=address(name), pauses=False
    )


@router.post("/pause")
async def pause(request: Request, name: Name) -> Response:
    reason = required(await read_form(request), "reason", "a reason")
    await engine(request).pause_workflow(name, actor=actor(request), reason=reason)
    return answer_done(request, address(name))


@router.post("/resume")
async def resume(request: Request, name: Name) -> Response:
    reason = required(await read_form(request), "reason", "a reason")
    await engine(request).resume_workflow(name, actor=actor(request), reason=reason)
    return answer_done(request, address(name))
