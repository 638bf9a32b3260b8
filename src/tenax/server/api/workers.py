"""The workers' side: register, lease, report, release, heartbeat. The hot path: bytes in, bytes out."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from tenax.model.wire import (
    Assignment,
    Assignments,
    EndedLifeAnswer,
    HeartbeatAnswer,
    RegistrationAnswer,
    Release,
    ReportAnswers,
)
from tenax.model.wire_columns import gather_answers, gather_assignments, spread_reports
from tenax.server.schema import requests as bodies
from tenax.server.schema.body import read_body, read_sized_body
from tenax.server.schema.openapi import described
from tenax.server.schema.responses import answer_view
from tenax.server.services import engine, services, token_id

router = APIRouter(prefix="/v1/worker", tags=["workers"])


@router.post("/register", **described(RegistrationAnswer, body=bodies.REGISTRATION))
async def register(request: Request) -> Response:
    """A worker starts. The answer says how long its leases last, and how often to send heartbeats. From now on the name belongs to its token; 409: it belongs to another one, or the worker's `protocol` is too old."""
    who = await read_body(request, bodies.REGISTRATION)
    answered = await engine(request).register(who, token_id=token_id(request))
    return answer_view(answered)


@router.post("/lease", **described(list[Assignments], body=bodies.LEASE))
async def lease(request: Request) -> Response:
    """Work for free slots. Waits up to `wait` seconds for it. Assignments that are alike come together: what differs is a list, with an entry for each of them (of `spec` a single one may do for all). A field that is absent has its default. What a client that left was granted is handed back."""
    wanted = await read_body(request, bodies.LEASE)

    async def give_back(assignments: Sequence[Assignment]) -> None:
        await engine(request).release([_undelivered(assignment) for assignment in assignments])

    granted = await services(request).long_polls.wait(
        request, engine(request).lease(wanted), give_back=give_back
    )
    # What a field says by being absent is not written: most of them are not used by most steps.
    return answer_view(gather_assignments(granted or ()))


@router.post("/report", **described(list[ReportAnswers], body=bodies.REPORTS))
async def report(request: Request) -> Response:
    """What up to 1000 attempts came to, those of one step together: each field is a list, with an entry for each of them (of `outcome` a single one may do for all, where they succeeded: what they returned is in `result`). The answers are put together where they are the same. The same report again, the same answer."""
    reports, size = await read_sized_body(request, bodies.REPORTS)
    answered = gather_answers(await engine(request).report(spread_reports(reports), size=size))
    return answer_view(answered)


@router.post("/release", **described(None, body=bodies.RELEASES, status=204))
async def release(request: Request) -> Response:
    """Leases handed back, uncounted."""
    releases = await read_body(request, bodies.RELEASES)
    await engine(request).release(releases)
    return Response(status_code=204)


@router.post("/heartbeat", **described(HeartbeatAnswer, body=bodies.HEARTBEAT))
async def heartbeat(request: Request) -> Response:
    """Extends the leases it names. The answer names those that are no longer the worker's."""
    beat = await read_body(request, bodies.HEARTBEAT)
    return answer_view(await engine(request).heartbeat(beat))


@router.post("/ended", **described(EndedLifeAnswer, body=bodies.ENDED_LIFE))
async def ended(request: Request) -> Response:
    """A worker's process has died, as its supervisor saw. The leases of this life are lost at once, where no later life has the name."""
    life = await read_body(request, bodies.ENDED_LIFE)
    return answer_view(await engine(request).end_life(life))


def _undelivered(given: Assignment) -> Release:
    return Release(
        given.execution_id, given.item_id, given.attempt, given.token, "draining", "its worker went away"
    )
