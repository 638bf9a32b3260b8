"""Stores definitions, so that executions and `workflow` steps find them by name."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from tenax.model.views import StoredWorkflow, WorkflowInfo
from tenax.server.schema import requests as bodies
from tenax.server.schema.body import read_body
from tenax.server.schema.openapi import described
from tenax.server.schema.parameters import Plain, refuse_unknown_parameters
from tenax.server.schema.responses import answer_view
from tenax.server.services import engine

router = APIRouter(
    prefix="/v1/workflows", tags=["workflows"], dependencies=[Depends(refuse_unknown_parameters)]
)


@router.post("", **described(StoredWorkflow, body=bodies.WORKFLOW, status=201))
async def store(request: Request) -> Response:
    """Stores a workflow without running it.

    From now on its name means this definition. If the same one was stored before, `created` is false.
    """
    body = await read_body(request, bodies.WORKFLOW)
    stored = await engine(request).store_workflow(body.source, filename=body.filename, files=body.files)
    return answer_view(stored, 201)


@router.get("", **described(list[WorkflowInfo]))
async def list_workflows(request: Request, name: Annotated[str | None, Plain] = None) -> Response:
    """Lists the stored workflows.

    With `name`, lists all versions of this one.
    """
    return answer_view(await engine(request).workflows(name))
