"""Stores definitions, so that executions and `workflow` steps find them by name."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from tenax.model.views import StoredWorkflow, WorkflowInfo, WorkflowPauseAnswer
from tenax.server.schema import requests as bodies
from tenax.server.schema.body import read_body
from tenax.server.schema.openapi import described
from tenax.server.schema.parameters import Plain, WorkflowName, refuse_unknown_parameters
from tenax.server.schema.responses import answer_view
from tenax.server.services import actor, engine

router = APIRouter(
    prefix="/v1/workflows", tags=["workflows"], dependencies=[Depends(refuse_unknown_parameters)]
)


@router.post("", **described(StoredWorkflow, body=bodies.WORKFLOW, status=201))
async def store(request: Request) -> Response:
    """Stores a workflow without running it.

    From now on its name means this definition. If the same definition was stored before, `created` is false.
    """
    body = await read_body(request, bodies.WORKFLOW)
    stored = await engine(request).store_workflow(
        body.source, filename=body.filename, files=body.files, actor=actor(request)
    )
    return answer_view(stored, 201)


@router.get("", **described(list[WorkflowInfo]))
async def list_workflows(request: Request, name: Annotated[str | None, Plain] = None) -> Response:
    """Lists the stored workflows.

    With `name`, it lists all versions of this workflow.
    """
    return answer_view(await engine(request).workflows(name))


@router.post("/{name:path}/pause", **described(WorkflowPauseAnswer, body=bodies.REASON, optional=True))
async def pause(request: Request, name: WorkflowName) -> Response:
    """Pauses a workflow.

    Its executions are paused one after the other, and each new one begins paused.
    """
    body = await read_body(request, bodies.REASON, empty=b"{}")
    changed = await engine(request).pause_workflow(name, actor=actor(request), reason=body.reason)
    return answer_view(WorkflowPauseAnswer(workflow=name, paused=True, changed=changed))


@router.post("/{name:path}/resume", **described(WorkflowPauseAnswer, body=bodies.REASON, optional=True))
async def resume(request: Request, name: WorkflowName) -> Response:
    """Resumes a paused workflow.

    The executions that were paused with it go on one after the other. Executions that were paused by themselves stay paused.
    """
    body = await read_body(request, bodies.REASON, empty=b"{}")
    changed = await engine(request).resume_workflow(name, actor=actor(request), reason=body.reason)
    return answer_view(WorkflowPauseAnswer(workflow=name, paused=False, changed=changed))
