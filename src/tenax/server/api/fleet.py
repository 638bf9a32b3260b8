"""Shows workers and queues to people, and lets people control them. The routes that workers call are in `workers`."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.requests import Request
from starlette.responses import Response

from tenax.model.diagnosis import Diagnosis
from tenax.model.views import LimitAnswer, Queue, Worker, WorkerInFull
from tenax.server.schema import requests as bodies
from tenax.server.schema.body import read_body
from tenax.server.schema.openapi import described
from tenax.server.schema.parameters import QueueName, WorkerName, refuse_unknown_parameters
from tenax.server.schema.responses import NameAnswer, WorkerAnswer, answer_view
from tenax.server.services import actor, engine

router = APIRouter(prefix="/v1", tags=["fleet"], dependencies=[Depends(refuse_unknown_parameters)])


@router.get("/workers", **described(list[Worker]))
async def list_workers(
    request: Request,
    all: Annotated[bool, Query(description="workers that are gone too")] = False,  # noqa: A002, FBT002 -- the parameter's name
) -> Response:
    """Lists the live workers with their health."""
    return answer_view(await engine(request).workers(all=all))


@router.get("/workers/{name:path}/diagnosis", **described(Diagnosis))
async def diagnose_worker(request: Request, name: WorkerName) -> Response:
    """Says in one sentence why a worker gets no work, then the evidence."""
    return answer_view(await engine(request).diagnose_worker(name))


@router.get("/workers/{name:path}", **described(WorkerInFull))
async def get_worker(request: Request, name: WorkerName) -> Response:
    """Returns a worker with the columns of its health, its leases, and its events."""
    return answer_view(await engine(request).worker(name))


_CHANGE = described(WorkerAnswer, body=bodies.REASON, optional=True)


@router.post("/workers/{name:path}/pause", **_CHANGE)
async def pause_worker(request: Request, name: WorkerName) -> Response:
    """Pauses a worker: it gets no new work until it is resumed, even after a restart. Attempts that run may finish."""
    body = await read_body(request, bodies.REASON, empty=b"{}")
    changed = await engine(request).pause_worker(name, actor=actor(request), reason=body.reason)
    return answer_view(WorkerAnswer(name=name, state="paused", changed=changed))


@router.post("/workers/{name:path}/drain", **_CHANGE)
async def drain_worker(request: Request, name: WorkerName) -> Response:
    """Drains a worker: it gets no new work, finishes its attempts, and ends."""
    body = await read_body(request, bodies.REASON, empty=b"{}")
    changed = await engine(request).drain_worker(name, actor=actor(request), reason=body.reason)
    return answer_view(WorkerAnswer(name=name, state="draining", changed=changed))


@router.post("/workers/{name:path}/resume", **_CHANGE)
async def resume_worker(request: Request, name: WorkerName) -> Response:
    """Resumes a worker that was paused or drained. Its recorded failures are cleared."""
    body = await read_body(request, bodies.REASON, empty=b"{}")
    changed = await engine(request).resume_worker(name, actor=actor(request), reason=body.reason)
    return answer_view(WorkerAnswer(name=name, state="active", changed=changed))


@router.post(
    "/workers/{name:path}/release",
    **described(NameAnswer, body=bodies.REASON, optional=True),
)
async def release_worker(request: Request, name: WorkerName) -> Response:
    """Frees the name of a worker from its token. The name then belongs to the next worker that registers under it."""
    body = await read_body(request, bodies.REASON, empty=b"{}")
    changed = await engine(request).release_worker(name, actor=actor(request), reason=body.reason)
    return answer_view(NameAnswer(name=name, changed=changed))


@router.get("/queues", **described(list[Queue]))
async def list_queues(request: Request) -> Response:
    """Lists the queues that have work, workers or limits."""
    return answer_view(await engine(request).queues())


@router.get("/queues/{queue:path}/diagnosis", **described(Diagnosis))
async def diagnose_queue(request: Request, queue: QueueName) -> Response:
    """Says in one sentence why a queue does not move, then the evidence."""
    return answer_view(await engine(request).diagnose_queue(queue))


@router.put("/queues/{queue:path}/limits", **described(LimitAnswer, body=bodies.LIMITS))
async def limit_queue(request: Request, queue: QueueName) -> Response:
    """Sets all limits of a queue. A limit that is absent or null is removed."""
    body = await read_body(request, bodies.LIMITS)
    limited = await engine(request).limit_queue(
        queue,
        concurrency=body.concurrency,
        rate=body.rate,
        burst=body.burst,
        actor=actor(request),
        reason=body.reason,
    )
    return answer_view(limited)
