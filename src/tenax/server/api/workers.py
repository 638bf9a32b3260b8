"""Serves the workers: register, lease, report, release, heartbeat, notes. These routes are the hot path."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from tenax.model.wire import (
    Assignment,
    Assignments,
    AttemptNotesAnswer,
    EndedLifeAnswer,
    HeartbeatAnswer,
    RegistrationAnswer,
    Release,
    ReportAnswers,
)
from tenax.model.wire_columns import gather_answers, gather_assignments, spread_reports
from tenax.server.schema import worker_requests as bodies
from tenax.server.schema.body import read_body, read_sized_body
from tenax.server.schema.openapi import described
from tenax.server.schema.responses import answer_view
from tenax.server.services import engine, services, token_id

router = APIRouter(prefix="/v1/worker", tags=["workers"])


@router.post("/register", **described(RegistrationAnswer, body=bodies.REGISTRATION))
async def register(request: Request) -> Response:
    """Registers a worker.

    The answer says how long its leases last and how often it sends heartbeats, and from now on the name belongs to its
    token. The answer is 409 if the name belongs to another token, or if the worker's `protocol` is too old.
    """
    who = await read_body(request, bodies.REGISTRATION)
    answered = await engine(request).register(who, token_id=token_id(request))
    return answer_view(answered)


@router.post("/lease", **described(list[Assignments], body=bodies.LEASE))
async def lease(request: Request) -> Response:
    """Leases work for free slots.

    If there is none, the request waits up to `wait` seconds. Assignments of one step come in one group: each field is a list
    with an entry for each assignment (`spec` may have one entry for all), and an absent field has its default.
    """
    wanted = await read_body(request, bodies.LEASE)

    async def give_back(assignments: Sequence[Assignment]) -> None:
        await engine(request).release([_undelivered(assignment) for assignment in assignments])

    granted = await services(request).long_polls.wait(
        request, engine(request).lease(wanted), give_back=give_back
    )
    # Fields that have their default are not written: most steps use few fields.
    return answer_view(gather_assignments(granted or ()))


@router.post("/report", **described(list[ReportAnswers], body=bodies.REPORTS))
async def report(request: Request) -> Response:
    """Reports the outcomes of attempts.

    A request has up to 1000, in a group for each step: each field is a list with an entry for each attempt, and
    `outcome` may have one entry for all attempts that succeeded. A report that is sent again gets the same answer
    again.
    """
    reports, size = await read_sized_body(request, bodies.REPORTS)
    answered = gather_answers(await engine(request).report(spread_reports(reports), size=size))
    return answer_view(answered)


@router.post("/release", **described(None, body=bodies.RELEASES, status=204))
async def release(request: Request) -> Response:
    """Releases leases.

    The worker hands back work that it does not run. The attempts are not counted.
    """
    releases = await read_body(request, bodies.RELEASES)
    await engine(request).release(releases)
    return Response(status_code=204)


@router.post("/heartbeat", **described(HeartbeatAnswer, body=bodies.HEARTBEAT))
async def heartbeat(request: Request) -> Response:
    """Extends leases.

    A heartbeat names the leases of the worker. The answer names those that it has lost.
    """
    beat = await read_body(request, bodies.HEARTBEAT)
    return answer_view(await engine(request).heartbeat(beat))


@router.post("/notes", **described(AttemptNotesAnswer, body=bodies.NOTES))
async def notes(request: Request) -> Response:
    """Keeps what running attempts tell.

    Checkpoints are for the next attempt, and progress and output for people. The answer names the leases that are not valid any
    more: their checkpoints were not kept.
    """
    told = await read_body(request, bodies.NOTES)
    return answer_view(await engine(request).take_notes(told))


@router.post("/ended", **described(EndedLifeAnswer, body=bodies.ENDED_LIFE))
async def ended(request: Request) -> Response:
    """Reports that a worker's process has died.

    The supervisor of the process sends this request. The leases of this life are lost at once, unless a later life has the
    name.
    """
    life = await read_body(request, bodies.ENDED_LIFE)
    return answer_view(await engine(request).end_life(life))


def _undelivered(given: Assignment) -> Release:
    return Release(
        given.execution_id, given.item_id, given.attempt, given.token, "draining", "its worker went away"
    )
