"""Shows workers and queues to people, and lets people control them. The routes that workers call are in `workers`."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.requests import Request
from starlette.responses import Response

from tenax.model.diagnosis import Diagnosis
from tenax.model.fleet.views import LimitAnswer, Queue, QueuePauseAnswer, Worker, WorkerInFull
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
    """Lists the live workers.

    Each has the server's verdict on its health, and what decided it.
    """
    return answer_view(await engine(request).workers(all=all))


@router.get("/workers/{name:path}/diagnosis", **described(Diagnosis))
async def diagnose_worker(request: Request, name: WorkerName) -> Response:
    """Explains why a worker gets no work.

    One sentence names the cause. Then come all conditions that keep work from it (`doors`), and the evidence.
    """
    return answer_view(await engine(request).diagnose_worker(name))


@router.get("/workers/{name:path}", **described(WorkerInFull))
async def get_worker(request: Request, name: WorkerName) -> Response:
    """Returns a worker.

    The answer has the columns of its health, its leases and its last events.
    """
    return answer_view(await engine(request).worker(name))


_CHANGE = described(WorkerAnswer, body=bodies.REASON, optional=True)


@router.post("/workers/{name:path}/pause", **_CHANGE)
async def pause_worker(request: Request, name: WorkerName) -> Response:
    """Pauses a worker.

    It gets no new work until it is resumed, even if it is restarted. Its running attempts may finish.
    """
    body = await read_body(request, bodies.REASON, empty=b"{}")
    changed = await engine(request).pause_worker(name, actor=actor(request), reason=body.reason)
    return answer_view(WorkerAnswer(name=name, state="paused", changed=changed))


@router.post("/workers/{name:path}/drain", **_CHANGE)
async def drain_worker(request: Request, name: WorkerName) -> Response:
    """Drains a worker.

    It gets no new work, finishes what it has, and ends.
    """
    body = await read_body(request, bodies.REASON, empty=b"{}")
    changed = await engine(request).drain_worker(name, actor=actor(request), reason=body.reason)
    return answer_view(WorkerAnswer(name=name, state="draining", changed=changed))


@router.post("/workers/{name:path}/resume", **_CHANGE)
async def resume_worker(request: Request, name: WorkerName) -> Response:
    """Resumes a worker.

    A paused or drained worker gets work again, and failures that were held against it are forgotten.
    """
    body = await read_body(request, bodies.REASON, empty=b"{}")
    changed = await engine(request).resume_worker(name, actor=actor(request), reason=body.reason)
    return answer_view(WorkerAnswer(name=name, state="active", changed=changed))


@router.post(
    "/workers/{name:path}/release",
    **described(NameAnswer, body=bodies.REASON, optional=True),
)
async def release_worker(request: Request, name: WorkerName) -> Response:
    """Releases the name of a worker.

    From then on the name belongs to no token. It will belong to the token of the next worker that registers under it.
    """
    body = await read_body(request, bodies.REASON, empty=b"{}")
    changed = await engine(request).release_worker(name, actor=actor(request), reason=body.reason)
    return answer_view(NameAnswer(name=name, changed=changed))


@router.get("/queues", **described(list[Queue]))
async def list_queues(request: Request) -> Response:
    """Lists the queues.

    They are the queues that have work, live workers or limits, each with the numbers of its items.
    """
    return answer_view(await engine(request).queues())


@router.get("/queues/{queue:path}/diagnosis", **described(Diagnosis))
async def diagnose_queue(request: Request, queue: QueueName) -> Response:
    """Explains why a queue does not move.

    One sentence names the cause. Then come all conditions that keep its items from running (`doors`), and the evidence.
    """
    return answer_view(await engine(request).diagnose_queue(queue))


@router.post("/queues/{queue:path}/pause", **described(QueuePauseAnswer, body=bodies.REASON, optional=True))
async def pause_queue(request: Request, queue: QueueName) -> Response:
    """Pauses a queue.

    None of its items starts any more. Running attempts may finish.
    """
    body = await read_body(request, bodies.REASON, empty=b"{}")
    changed = await engine(request).pause_queue(queue, actor=actor(request), reason=body.reason)
    return answer_view(QueuePauseAnswer(queue=queue, paused=True, changed=changed))


@router.post("/queues/{queue:path}/resume", **described(QueuePauseAnswer, body=bodies.REASON, optional=True))
async def resume_queue(request: Request, queue: QueueName) -> Response:
    """Resumes a paused queue.

    Its items start again as its workers and its limits allow.
    """
    body = await read_body(request, bodies.REASON, empty=b"{}")
    changed = await engine(request).resume_queue(queue, actor=actor(request), reason=body.reason)
    return answer_view(QueuePauseAnswer(queue=queue, paused=False, changed=changed))


@router.put("/queues/{queue:path}/limits", **described(LimitAnswer, body=bodies.LIMITS))
async def limit_queue(request: Request, queue: QueueName) -> Response:
    """Sets the limits of a queue.

    Replaces all of them: a limit that is absent or null is no limit.
    """
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
