"""Edits the input of a finished execution, and runs it again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from tenax.errors import TenaxError
from tenax.model.execution_views import Execution
from tenax.model.views import RetryAnswer
from tenax.ui.answers import actor, answer_done, answer_page, engine, require_operator
from tenax.ui.forms import read_form, required
from tenax.ui.offers import ENDED
from tenax.ui.pages.acting.frame import ExecutionId, frame
from tenax.ui.pages.acting.input_form import InputField, RefusedInput, fields_of, start_with_input

TEMPLATE = "executions/again.html"
router = APIRouter(prefix="/executions/{execution_id}/again")


@router.get("")
async def form(request: Request, execution_id: ExecutionId) -> Response:
    """Shows the form, filled in with the input that the execution had."""
    require_operator(request)
    on = engine(request)
    execution = await on.get(execution_id)
    return await _answer(request, execution, fields_of(await on.inputs(execution_id), execution.input))


@router.post("")
async def run_again(request: Request, execution_id: ExecutionId) -> Response:
    """Starts the new execution, or shows beside the fields what does not fit."""
    on, sent = engine(request), await read_form(request)
    execution = await on.get(execution_id)

    async def start(changed: dict[str, Any]) -> RetryAnswer:
        reason = required(sent, "reason", "a reason")
        return await on.run_anew(execution_id, actor=actor(request), reason=reason, input=changed)

    started = await start_with_input(await on.inputs(execution_id), execution.input, sent, start)
    if isinstance(started, RefusedInput):
        return await _answer(
            request, execution, started.fields, reason=sent.get("reason", ""), error=started.error
        )
    return answer_done(request, f"/executions/{started.id}")


async def _answer(
    request: Request,
    execution: Execution,
    fields: Sequence[InputField],
    *,
    reason: str = "",
    error: TenaxError | None = None,
) -> Response:
    is_wrong = error is not None or any(field.error for field in fields)
    values: dict[str, Any] = await frame(engine(request), execution)
    return answer_page(
        request,
        TEMPLATE,
        status=422 if is_wrong else 200,
        **values,
        fields=fields,
        reason=reason,
        error=None if error is None else error.problem(),
        is_ended=execution.status in ENDED,
    )
