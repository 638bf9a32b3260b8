"""Serves the steps of an execution: the items of a fan-out, and the approvals that people give."""

from __future__ import annotations

from typing import Annotated, get_args

from fastapi import APIRouter, Depends, Query
from starlette.requests import Request
from starlette.responses import Response

from tenax.model.views import ApprovalAnswer, ItemInfo, ItemStatus
from tenax.model.wire_types import LARGEST_ATTEMPT
from tenax.server.schema import requests as bodies
from tenax.server.schema.body import read_body
from tenax.server.schema.openapi import described
from tenax.server.schema.parameters import ExecutionId, StepName, read_statuses, refuse_unknown_parameters
from tenax.server.schema.responses import answer_view
from tenax.server.services import actor, engine

ITEM_STATUSES: tuple[str, ...] = get_args(ItemStatus)

router = APIRouter(
    prefix="/v1/executions/{execution_id}/steps/{step}",
    tags=["steps"],
    dependencies=[Depends(refuse_unknown_parameters)],
)


@router.get("/items", **described(list[ItemInfo]))
async def items(
    request: Request,
    execution_id: ExecutionId,
    step: StepName,
    status: Annotated[list[str] | None, Query(description="one or more, repeated or with commas")] = None,
    after: Annotated[int, Query(ge=-1, le=LARGEST_ATTEMPT)] = -1,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """Lists the items of a fan-out.

    They are in the order of its list. To get the next page, give the number of the last item as `after`.
    """
    found = await engine(request).items(
        execution_id, step, states=read_statuses(ITEM_STATUSES, status), after=after, limit=limit
    )
    return answer_view(found)


@router.post("/approve", **described(ApprovalAnswer, body=bodies.APPROVAL, optional=True))
async def approve(request: Request, execution_id: ExecutionId, step: StepName) -> Response:
    """Approves a waiting step.

    The step, or one item of its fan-out, completes.
    """
    return await _decide(request, execution_id, step, approved=True)


@router.post("/reject", **described(ApprovalAnswer, body=bodies.APPROVAL, optional=True))
async def reject(request: Request, execution_id: ExecutionId, step: StepName) -> Response:
    """Rejects a waiting step.

    The step, or one item of its fan-out, fails with the class `denied`.
    """
    return await _decide(request, execution_id, step, approved=False)


async def _decide(request: Request, execution_id: int, step: str, *, approved: bool) -> Response:
    body = await read_body(request, bodies.APPROVAL, empty=b"{}")
    done = await engine(request).decide_approval(
        execution_id, step, approved=approved, item=body.item, actor=actor(request), reason=body.reason
    )
    return answer_view(done)
