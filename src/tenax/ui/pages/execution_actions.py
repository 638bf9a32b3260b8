"""Shows the forms of actions on an execution, and carries the actions out."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from starlette.requests import Request
from starlette.responses import Response

from tenax.store.fleet.tokens import LARGEST_ID
from tenax.ui.answers import actor, answer_dialog, answer_done, engine
from tenax.ui.forms import read_form, required

router = APIRouter(prefix="/executions")
ExecutionId = Annotated[int, Path(ge=1, le=LARGEST_ID)]


@router.get("/{execution_id}/cancel")
async def cancel_form(request: Request, execution_id: ExecutionId) -> Response:
    """Asks for the reason, in a dialog or on a page of its own."""
    return answer_dialog(request, "executions/cancel.html", title="Cancel an execution", id=execution_id)


@router.post("/{execution_id}/cancel")
async def cancel(request: Request, execution_id: ExecutionId) -> Response:
    reason = required(await read_form(request), "reason", "a reason")
    await engine(request).cancel(execution_id, actor=actor(request), reason=reason)
    return answer_done(request, "/executions")
