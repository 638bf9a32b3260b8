"""Serves the route by which scripts written for Attune start an execution, or retry one."""

from __future__ import annotations

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from tenax.engine.submit.linked_start import WantedExecution
from tenax.server.schema import requests as bodies
from tenax.server.schema.body import read_body
from tenax.server.schema.openapi import described
from tenax.server.schema.parameters import refuse_unknown_parameters
from tenax.server.schema.responses import AttuneAnswer, NewAttuneExecution, answer_view
from tenax.server.services import actor, engine

MANUAL_RETRY = "manual_retry"

router = APIRouter(
    prefix="/api/v1/executions", tags=["executions"], dependencies=[Depends(refuse_unknown_parameters)]
)


@router.post("", **described(AttuneAnswer, body=bodies.ATTUNE_EXECUTION, status=201))
async def execute(request: Request) -> Response:
    """Starts an action or a workflow in the form of Attune.

    `action_ref` names an action of a pack, or else a stored workflow. `config.retry_of` names the execution that the new one
    repeats.
    """
    body = await read_body(request, bodies.ATTUNE_EXECUTION)
    config = body.config or bodies.AttuneConfig()
    reason = config.retry_reason or MANUAL_RETRY
    wanted = WantedExecution(body.action_ref, body.parameters, config.retry_of, actor(request), reason)
    started = await engine(request).execute(wanted)
    created = NewAttuneExecution(
        id=started.id,
        action_ref=body.action_ref,
        status="requested",
        config=body.parameters,
        retry_of=started.retry_of,
        original_execution=started.original_execution,
        retry_reason=None if started.retry_of is None else reason,
    )
    return answer_view(AttuneAnswer(data=created), 201)
