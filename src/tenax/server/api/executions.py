"""Starts, shows, follows and controls executions."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, get_args

from fastapi import APIRouter, Depends, Query
from starlette.requests import Request
from starlette.responses import Response

from tenax.model.attempt.live_views import OutputPage, StepProgress
from tenax.model.diagnosis import Diagnosis
from tenax.model.execution_views import Event, Execution, News
from tenax.model.filters.parse import MAX_LENGTH, parse_filter
from tenax.model.views import (
    Compensation,
    ExecutionStatus,
    ExecutionSummary,
    Explanation,
    SignalAnswer,
    SubmissionFault,
    Tree,
)
from tenax.model.wire import Submitted
from tenax.model.wire_types import LARGEST_ATTEMPT
from tenax.server.schema import requests as bodies
from tenax.server.schema.body import read_body
from tenax.server.schema.openapi import described
from tenax.server.schema.parameters import (
    Duration,
    ExecutionId,
    Plain,
    moment_of,
    read_statuses,
    refuse_unknown_parameters,
)
from tenax.server.schema.responses import (
    answer_execution,
    answer_list,
    answer_many,
    answer_view,
)
from tenax.server.services import actor, engine, services
from tenax.store.fleet.tokens import LARGEST_ID

LONGEST_NEWS_WAIT = 30.0
_SNAPSHOT = r"\d{1,20}:\d{1,20}:(\d{1,20}(,\d{1,20})*)?"
CURSOR = rf"^({_SNAPSHOT}|({_SNAPSHOT})?;{_SNAPSHOT};\d{{1,18}})$"
"""A snapshot of PostgreSQL, or a place within a long answer. Clients send back what the last answer gave them."""
STATUSES: tuple[str, ...] = get_args(ExecutionStatus)

router = APIRouter(
    prefix="/v1/executions", tags=["executions"], dependencies=[Depends(refuse_unknown_parameters)]
)


@router.post("", **described(Submitted, body=bodies.SUBMISSION, status=201))
async def submit(request: Request) -> Response:
    """Starts an execution.

    If the `key` was used before, nothing starts: the answer is the earlier execution, and `created` is false.
    """
    submission = await read_body(request, bodies.SUBMISSION)
    [submitted] = await engine(request).submit([submission])
    return answer_view(submitted, 201)


@router.post("/batch", **described(list[Submitted], body=bodies.BATCH_OF_SUBMISSIONS))
async def submit_many(request: Request) -> Response:
    """Starts up to 1000 executions.

    Either all of them start, or none does. The answers are in the order of the submissions.
    """
    batch = await read_body(request, bodies.BATCH_OF_SUBMISSIONS)
    return answer_view(await engine(request).submit(batch.submissions))


@router.post("/batch/check", **described(list[SubmissionFault], body=bodies.BATCH_OF_SUBMISSIONS))
async def check_many(request: Request) -> Response:
    """Checks submissions without starting them.

    A request has up to 1000 of them. The answer has an entry for each submission that is wrong.
    """
    batch = await read_body(request, bodies.BATCH_OF_SUBMISSIONS)
    return answer_view(await engine(request).find_faults(batch.submissions))


@router.get("", **described(list[ExecutionSummary]))
async def list_executions(
    request: Request,
    filter: Annotated[  # noqa: A002 -- the parameter's name
        str | None,
        Query(
            max_length=MAX_LENGTH, description="a filter: status=failed workflow=sync-* since=2h, or @NAME"
        ),
    ] = None,
    status: Annotated[list[str] | None, Query(description="one or more, repeated or with commas")] = None,
    workflow: Annotated[str | None, Plain] = None,
    since: Annotated[str | None, Query(max_length=100, description="RFC 3339, or how long ago: 1h")] = None,
    before: Annotated[int | None, Query(ge=1, le=LARGEST_ID)] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    top: Annotated[bool, Query(description="without children")] = False,  # noqa: FBT002
    compensation: Annotated[
        Compensation | None, Query(description="only executions whose compensations have this status")
    ] = None,
) -> Response:
    """Lists executions.

    The newest comes first, and the next page begins after `before`, the id of the last execution. `filter` selects
    executions, and most other parameters are short forms of its terms.
    """
    found = await engine(request).list(
        parse_filter(filter or ""),
        states=read_statuses(STATUSES, status),
        workflow=workflow,
        since=None if since is None else moment_of(since, datetime.now(UTC)),
        before=before,
        limit=limit,
        top=top,
        compensation=compensation,
    )
    return answer_view(found)


@router.get("/{execution_id}", **described(Execution))
async def get(request: Request, execution_id: ExecutionId) -> Response:
    """Returns an execution.

    The answer has its steps with their attempts, what they wait for, and the result or the failure.
    """
    return await answer_execution(await engine(request).get(execution_id))


@router.get("/{execution_id}/events", **described(list[Event]))
async def events(
    request: Request,
    execution_id: ExecutionId,
    after: Annotated[int, Query(ge=0, le=LARGEST_ID)] = 0,
) -> Response:
    """Returns the events of an execution.

    They come in their order. With `after`, only events with a higher sequence number come.
    """
    return await answer_list(engine(request).event_pages(execution_id, after=after))


@router.get("/{execution_id}/news", **described(News))
async def news(
    request: Request,
    execution_id: ExecutionId,
    cursor: Annotated[str | None, Query(max_length=8000, pattern=CURSOR)] = None,
    wait: Annotated[
        float, Duration, Query(ge=0, le=LONGEST_NEWS_WAIT, description="seconds, or a duration: 20s")
    ] = 0.0,
) -> Response:
    """Waits for new events of an execution.

    Returns what has happened since the cursor of the last answer, and the next cursor. If there is nothing
    new, it waits up to `wait` seconds.
    """
    found = engine(request).news(execution_id, cursor=cursor, wait=wait)
    if wait > 0:
        told = await services(request).long_polls.wait(request, found)
        return answer_view(told or News(events=[], cursor=cursor))
    return answer_view(await found)


@router.get("/{execution_id}/progress", **described(list[StepProgress]))
async def progress(request: Request, execution_id: ExecutionId) -> Response:
    """Tells how far the running steps are.

    A step is listed if a running attempt of it has told its progress, or if it is a fan-out of which items have ended.
    """
    return answer_view(await engine(request).progress(execution_id))


@router.get("/{execution_id}/logs", **described(OutputPage))
async def logs(
    request: Request,
    execution_id: ExecutionId,
    step: Annotated[str | None, Plain] = None,
    item: Annotated[int | None, Query(ge=0, le=LARGEST_ATTEMPT)] = None,
    attempt: Annotated[int | None, Query(ge=1, le=LARGEST_ATTEMPT)] = None,
    after: Annotated[int, Query(ge=0, le=LARGEST_ID)] = 0,
) -> Response:
    """Returns what the attempts have printed.

    The chunks are in the order in which they came. Ask again with `after` set to the answer's `cursor` for what comes next.
    """
    found = engine(request).output(execution_id, after=after, step=step, item=item, attempt=attempt)
    return answer_view(await found)


@router.get("/{execution_id}/explain", **described(list[Explanation]))
async def explain(
    request: Request,
    execution_id: ExecutionId,
    step: Annotated[str | None, Plain] = None,
    item: Annotated[int | None, Query(ge=0, le=LARGEST_ATTEMPT)] = None,
    attempt: Annotated[int | None, Query(ge=1, le=LARGEST_ATTEMPT)] = None,
) -> Response:
    """Explains why attempts were retried or not.

    Returns every stored decision with its reasons, or only those of one step, item or attempt.
    """
    found = await engine(request).explain(execution_id, step=step, item=item, attempt=attempt)
    return answer_many(list(found))


@router.get("/{execution_id}/diagnosis", **described(Diagnosis))
async def diagnose(
    request: Request,
    execution_id: ExecutionId,
    step: Annotated[str | None, Plain] = None,
    item: Annotated[int | None, Query(ge=0, le=LARGEST_ATTEMPT)] = None,
) -> Response:
    """Explains why work does not go on.

    One sentence names the cause for an execution, a step or an item. Then come all conditions that keep it from running
    (`doors`), what happens next, and the commands that change it.
    """
    return answer_view(await engine(request).diagnose(execution_id, step=step, item=item))


@router.post("/{execution_id}/signals", **described(SignalAnswer, body=bodies.SIGNAL))
async def signal(request: Request, execution_id: ExecutionId) -> Response:
    """Sends a signal to an execution.

    The step that waits for the signal gets it now, or when it begins to wait. If the `key` was used before, the answer is the
    earlier signal.
    """
    body = await read_body(request, bodies.SIGNAL)
    done = await engine(request).signal(
        execution_id, body.name, data=body.data, key=body.key, actor=actor(request), reason=body.reason
    )
    return answer_view(done)


@router.get("/{execution_id}/tree", **described(Tree))
async def tree(request: Request, execution_id: ExecutionId) -> Response:
    """Returns an execution with its children.

    The answer has the children of its children too.
    """
    return answer_view(await engine(request).tree(execution_id))
