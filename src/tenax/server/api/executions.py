"""Executions: submit, look at, follow, act on."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, get_args

from fastapi import APIRouter, Depends, Query
from starlette.requests import Request
from starlette.responses import Response

from tenax.model.execution_views import Event, Execution, News
from tenax.model.filters.parse import MAX_LENGTH, parse_filter
from tenax.model.views import (
    Compensation,
    ExecutionStatus,
    ExecutionSummary,
    Explanation,
    RetryAnswer,
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
    one_of,
    refuse_unknown_parameters,
)
from tenax.server.schema.responses import (
    CancelAnswer,
    PauseAnswer,
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
"""A snapshot of PostgreSQL, or the middle of a long answer, as the last answer gave it."""
STATUSES: tuple[str, ...] = get_args(ExecutionStatus)

router = APIRouter(
    prefix="/v1/executions", tags=["executions"], dependencies=[Depends(refuse_unknown_parameters)]
)


@router.post("", **described(Submitted, body=bodies.SUBMISSION, status=201))
async def submit(request: Request) -> Response:
    """Starts an execution. With a `key` that is known the answer is the earlier execution, `created` false."""
    submission = await read_body(request, bodies.SUBMISSION)
    [submitted] = await engine(request).submit([submission])
    return answer_view(submitted, 201)


@router.post("/batch", **described(list[Submitted], body=bodies.BATCH_OF_SUBMISSIONS))
async def submit_many(request: Request) -> Response:
    """Starts up to 1000 executions, all of them or none."""
    batch = await read_body(request, bodies.BATCH_OF_SUBMISSIONS)
    return answer_view(await engine(request).submit(batch.submissions))


@router.post("/batch/check", **described(list[SubmissionFault], body=bodies.BATCH_OF_SUBMISSIONS))
async def check_many(request: Request) -> Response:
    """Checks up to 1000 submissions and starts nothing. The answer says what is wrong with each wrong one."""
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
    top: Annotated[bool, Query(description="without those that others started")] = False,  # noqa: FBT002
    compensation: Annotated[
        Compensation | None, Query(description="only those whose compensations stand so")
    ] = None,
) -> Response:
    """The newest first. Go on with `before`: the id of the last one. `filter` selects; the other parameters are short
    forms of its terms."""
    found = await engine(request).list(
        parse_filter(filter or ""),
        states=one_of(STATUSES, status),
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
    """One execution with its steps and attempts."""
    return await answer_execution(await engine(request).get(execution_id))


@router.get("/{execution_id}/events", **described(list[Event]))
async def events(
    request: Request,
    execution_id: ExecutionId,
    after: Annotated[int, Query(ge=0, le=LARGEST_ID)] = 0,
) -> Response:
    """The events with a sequence number beyond `after`, as they stand now."""
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
    """What has happened since the cursor of the last answer, and the next cursor; waits up to `wait` seconds for something."""
    found = engine(request).news(execution_id, cursor=cursor, wait=wait)
    if wait > 0:
        told = await services(request).long_polls.wait(request, found)
        return answer_view(told or News(events=[], cursor=cursor))
    return answer_view(await found)


@router.get("/{execution_id}/explain", **described(list[Explanation]))
async def explain(
    request: Request,
    execution_id: ExecutionId,
    step: Annotated[str | None, Plain] = None,
    item: Annotated[int | None, Query(ge=0, le=LARGEST_ATTEMPT)] = None,
    attempt: Annotated[int | None, Query(ge=1, le=LARGEST_ATTEMPT)] = None,
) -> Response:
    """Why it was retried, or not: every decision, of one step, item or attempt where they are named."""
    found = await engine(request).explain(execution_id, step=step, item=item, attempt=attempt)
    return answer_many(list(found))


@router.post("/{execution_id}/cancel", **described(CancelAnswer, body=bodies.REASON, optional=True))
async def cancel(request: Request, execution_id: ExecutionId) -> Response:
    """Ends an execution: what waits ends at once, what runs is revoked."""
    body = await read_body(request, bodies.REASON, empty=b"{}")
    changed = await engine(request).cancel(execution_id, actor=actor(request), reason=body.reason)
    return answer_view(CancelAnswer(id=execution_id, status="cancelled", changed=changed))


@router.post("/{execution_id}/pause", **described(PauseAnswer, body=bodies.REASON, optional=True))
async def pause(request: Request, execution_id: ExecutionId) -> Response:
    """Nothing of an execution or of its children starts any more; what runs may finish."""
    body = await read_body(request, bodies.REASON, empty=b"{}")
    changed = await engine(request).pause(execution_id, actor=actor(request), reason=body.reason)
    return answer_view(PauseAnswer(id=execution_id, status="paused", changed=changed))


@router.post("/{execution_id}/resume", **described(PauseAnswer, body=bodies.REASON, optional=True))
async def resume(request: Request, execution_id: ExecutionId) -> Response:
    """A paused execution, and its children, go on."""
    body = await read_body(request, bodies.REASON, empty=b"{}")
    changed = await engine(request).resume(execution_id, actor=actor(request), reason=body.reason)
    return answer_view(PauseAnswer(id=execution_id, status="running", changed=changed))


@router.post("/{execution_id}/signals", **described(SignalAnswer, body=bodies.SIGNAL))
async def signal(request: Request, execution_id: ExecutionId) -> Response:
    """A signal for the step that waits for it, now or later. With a `key` that is known it is the earlier one."""
    body = await read_body(request, bodies.SIGNAL)
    done = await engine(request).signal(
        execution_id, body.name, data=body.data, key=body.key, actor=actor(request)
    )
    return answer_view(done)


@router.get("/{execution_id}/tree", **described(Tree))
async def tree(request: Request, execution_id: ExecutionId) -> Response:
    """An execution with its children, and theirs."""
    return answer_view(await engine(request).tree(execution_id))


@router.post("/{execution_id}/retry", **described(RetryAnswer, body=bodies.RETRY, optional=True))
async def retry(request: Request, execution_id: ExecutionId) -> Response:
    """What waits for a retry runs now; a finished execution is run again as a new one, linked to it."""
    body = await read_body(request, bodies.RETRY, empty=b"{}")
    done = await engine(request).retry(
        execution_id, actor=actor(request), reason=body.reason, from_failed=body.from_failed
    )
    return answer_view(done)
