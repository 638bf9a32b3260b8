"""Lists, creates, pauses, runs and deletes schedules."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.requests import Request
from starlette.responses import Response

from tenax.engine.schedules.schedules import MOST_TICKS
from tenax.model.schedule.views import (
    DeletedSchedule,
    ScheduleAnswer,
    ScheduleInfo,
    ScheduleInFull,
    SchedulePauseAnswer,
    ScheduleStarted,
    ScheduleTicks,
)
from tenax.server.schema import requests as bodies
from tenax.server.schema.body import read_body
from tenax.server.schema.openapi import described
from tenax.server.schema.parameters import ScheduleName, refuse_unknown_parameters
from tenax.server.schema.responses import answer_view
from tenax.server.services import actor, engine

router = APIRouter(
    prefix="/v1/schedules", tags=["schedules"], dependencies=[Depends(refuse_unknown_parameters)]
)


@router.get("", **described(list[ScheduleInfo]))
async def list_schedules(request: Request) -> Response:
    """Lists the schedules.

    They are in the order of their names.
    """
    return answer_view(await engine(request).schedules.list())


@router.get("/{name}", **described(ScheduleInFull))
async def get_schedule(request: Request, name: ScheduleName) -> Response:
    """Returns a schedule.

    It has the next ticks and what the schedule did last, the newest first.
    """
    return answer_view(await engine(request).schedules.get(name))


@router.get("/{name}/next", **described(ScheduleTicks))
async def next_ticks(
    request: Request, name: ScheduleName, n: Annotated[int, Query(ge=1, le=MOST_TICKS)] = 10
) -> Response:
    """Returns the next ticks of a schedule.

    They are the times at which it would start executions, also if it is paused.
    """
    return answer_view(await engine(request).schedules.next(name, n))


@router.put("/{name}", **described(ScheduleAnswer, body=bodies.SCHEDULE))
async def create_schedule(request: Request, name: ScheduleName) -> Response:
    """Creates a schedule of a stored workflow.

    An earlier schedule of this name is replaced, unless the file of a workflow declares it.
    """
    body = await read_body(request, bodies.SCHEDULE)
    created = await engine(request).schedules.create(
        name, body.workflow or name, body.schedule, actor=actor(request)
    )
    return answer_view(created)


@router.post("/{name}/pause", **described(SchedulePauseAnswer, body=bodies.REASON, optional=True))
async def pause_schedule(request: Request, name: ScheduleName) -> Response:
    """Pauses a schedule.

    No tick starts an execution until it is resumed, and none of them is made up for. What runs goes on.
    """
    body = await read_body(request, bodies.REASON, empty=b"{}")
    return answer_view(await engine(request).schedules.pause(name, actor=actor(request), reason=body.reason))


@router.post("/{name}/resume", **described(SchedulePauseAnswer, body=bodies.REASON, optional=True))
async def resume_schedule(request: Request, name: ScheduleName) -> Response:
    """Resumes a paused schedule.

    Its next tick is the first one from now on, and its failures in a row are counted anew.
    """
    body = await read_body(request, bodies.REASON, empty=b"{}")
    return answer_view(await engine(request).schedules.resume(name, actor=actor(request), reason=body.reason))


@router.post("/{name}/run", **described(ScheduleStarted, body=bodies.REASON, optional=True, status=201))
async def run_schedule(request: Request, name: ScheduleName) -> Response:
    """Starts an execution of a schedule now.

    It starts also while another one runs. The ticks stay as they are.
    """
    body = await read_body(request, bodies.REASON, empty=b"{}")
    started = await engine(request).schedules.run_now(name, actor=actor(request), reason=body.reason)
    return answer_view(started, 201)


@router.delete("/{name}", **described(DeletedSchedule))
async def delete_schedule(request: Request, name: ScheduleName) -> Response:
    """Deletes a schedule that a person created.

    Its executions stay. The schedule of a workflow file goes when the file is stored without it.
    """
    return answer_view(await engine(request).schedules.delete(name, actor=actor(request)))
