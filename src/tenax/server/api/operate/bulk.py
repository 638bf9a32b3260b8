"""Serves bulk jobs: one action on every execution that a filter selects."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query
from msgspec import UNSET
from starlette.requests import Request
from starlette.responses import Response

from tenax.model.filters.views import BulkJob
from tenax.server.schema import requests as bodies
from tenax.server.schema.body import read_body
from tenax.server.schema.bulk_requests import BULK
from tenax.server.schema.openapi import described
from tenax.server.schema.parameters import refuse_unknown_parameters
from tenax.server.schema.responses import answer_view
from tenax.server.services import actor, engine
from tenax.store.fleet.tokens import LARGEST_ID

JobId = Annotated[int, Path(ge=1, le=LARGEST_ID)]

router = APIRouter(prefix="/v1/bulk", tags=["bulk"], dependencies=[Depends(refuse_unknown_parameters)])


@router.post("", **described(BulkJob, body=BULK, status=201))
async def create(request: Request) -> Response:
    """Makes a bulk job as a preview.

    The job stores the executions that the filter selects now, or the dead letters for `redrive`, and does nothing until
    it is started. `step`, `result` and `policy` are as in the action on one execution.
    """
    body = await read_body(request, BULK)
    has_result = body.result is not UNSET
    job = await engine(request).bulk.create_of_text(
        body.action,
        body.filter,
        reason=body.reason,
        actor=actor(request),
        rate=body.rate,
        canary=body.canary,
        max_failed=body.max_failed,
        step=body.step,
        result=body.result if has_result else None,
        has_result=has_result,
        policy=body.policy,
    )
    return answer_view(job, 201)


@router.get("", **described(list[BulkJob]))
async def list_jobs(request: Request, limit: Annotated[int, Query(ge=1, le=500)] = 50) -> Response:
    """Lists the bulk jobs.

    The newest comes first. The list leaves out their executions.
    """
    return answer_view(await engine(request).bulk.list(limit=limit))


@router.get("/{job_id}", **described(BulkJob))
async def get(request: Request, job_id: JobId) -> Response:
    """Returns a bulk job.

    The answer has its progress, its first executions, and the first ones that were skipped or that failed.
    """
    return answer_view(await engine(request).bulk.get(job_id))


@router.post("/{job_id}/start", **described(BulkJob))
async def start(request: Request, job_id: JobId) -> Response:
    """Starts the preview of a bulk job.

    The caller is the actor of its actions.
    """
    return answer_view(await engine(request).bulk.start(job_id, actor=actor(request)))


@router.post("/{job_id}/stop", **described(BulkJob, body=bodies.REASON, optional=True))
async def stop(request: Request, job_id: JobId) -> Response:
    """Stops a bulk job.

    No execution is acted on after the answer.
    """
    body = await read_body(request, bodies.REASON, empty=b"{}")
    return answer_view(await engine(request).bulk.stop(job_id, actor=actor(request), reason=body.reason))


@router.post("/{job_id}/resume", **described(BulkJob, body=bodies.REASON, optional=True))
async def resume(request: Request, job_id: JobId) -> Response:
    """Continues a stopped bulk job.

    The job acts on the executions that are left, even if its canary failed.
    """
    body = await read_body(request, bodies.REASON, empty=b"{}")
    return answer_view(await engine(request).bulk.resume(job_id, actor=actor(request), reason=body.reason))
