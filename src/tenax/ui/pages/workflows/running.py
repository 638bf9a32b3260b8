"""Runs a workflow from a form that is made of its inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from tenax.errors import TenaxError, UsageError
from tenax.model.wire import Submission, Submitted
from tenax.ui.answers import answer_done, answer_page, engine, require_operator
from tenax.ui.forms import read_form
from tenax.ui.pages.acting.input_form import (
    InputField,
    RefusedInput,
    fields_of,
    filled_in,
    start_with_input,
)
from tenax.ui.pages.workflows.showing import Name, frame

TEMPLATE = "workflows/run.html"
router = APIRouter(prefix="/workflows/{name}/run")


@router.get("")
async def form(request: Request, name: Name) -> Response:
    """Shows the form, filled in with the defaults."""
    require_operator(request)
    definition = await engine(request).definition(name)
    return await _answer(request, name, fields_of(definition.plan.workflow.inputs, {}))


@router.post("")
async def run(request: Request, name: Name) -> Response:
    """Starts an execution and leads to it, or shows beside the fields what does not fit."""
    sent = await read_form(request)
    inputs = (await engine(request).definition(name)).plan.workflow.inputs

    async def start(values: dict[str, Any]) -> Submitted:
        return await _submit(request, name, values, sent.get("key", "").strip())

    started = await start_with_input(inputs, {}, sent, start)
    if isinstance(started, RefusedInput):
        return await _answer(request, name, started.fields, sent=sent, error=started.error)
    if not started.created:
        fields = filled_in(fields_of(inputs, {}), sent, {})
        return await _answer(request, name, fields, sent=sent, earlier=started.id)
    return answer_done(request, f"/executions/{started.id}")


async def _submit(request: Request, name: str, values: Mapping[str, object], key: str) -> Submitted:
    wanted = {"workflow": name, "input": values} | ({"key": key} if key else {})
    try:
        submission = msgspec.convert(wanted, Submission)
    except msgspec.ValidationError as error:
        raise UsageError(f"the key cannot be used: {error}", remedy="choose a shorter one") from None
    [submitted] = await engine(request).submit([submission])
    return submitted


async def _answer(
    request: Request,
    name: str,
    fields: Sequence[InputField],
    *,
    sent: Mapping[str, str] | None = None,
    error: TenaxError | None = None,
    earlier: int | None = None,
) -> Response:
    """Shows the form. `earlier` is the execution that has the key already."""
    is_wrong = error is not None or any(field.error for field in fields)
    status = 409 if earlier is not None else 422 if is_wrong else 200
    return answer_page(
        request,
        TEMPLATE,
        status=status,
        **await frame(engine(request), name, ""),
        tab=None,
        fields=fields,
        key=(sent or {}).get("key", ""),
        error=None if error is None else error.problem(),
        earlier=earlier,
    )
