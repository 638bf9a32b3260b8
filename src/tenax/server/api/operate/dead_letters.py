"""Serves dead letters: lists, shows, redrives and discards them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, cast, get_args

from fastapi import APIRouter, Depends, Path, Query
from starlette.requests import Request
from starlette.responses import Response

from tenax.model.filters.letters import LetterFilter
from tenax.model.filters.parse import MAX_LENGTH, parse_letter_filter
from tenax.model.letters.letter import LetterStatus
from tenax.model.letters.views import DeadLetter, DeadLetterInFull, LetterGroup, LettersChanged
from tenax.server.schema import letter_requests as bodies
from tenax.server.schema.body import read_body
from tenax.server.schema.openapi import described
from tenax.server.schema.parameters import Plain, moment_of, read_statuses, refuse_unknown_parameters
from tenax.server.schema.responses import answer_view
from tenax.server.services import actor, engine
from tenax.store.fleet.tokens import LARGEST_ID

STATUSES: tuple[LetterStatus, ...] = get_args(LetterStatus)

router = APIRouter(
    prefix="/v1/dead-letters", tags=["dead letters"], dependencies=[Depends(refuse_unknown_parameters)]
)
_Moment = Query(max_length=100, description="of the last failure: RFC 3339, or how long ago: 1h")


def wanted_letters(
    status: Annotated[
        list[str] | None, Query(description="one or more, repeated or with commas; `open` if absent")
    ] = None,
    all: Annotated[bool, Query(description="of any status")] = False,  # noqa: A002, FBT002 -- the parameter's name
    execution: Annotated[int | None, Query(ge=1, le=LARGEST_ID)] = None,
    workflow: Annotated[str | None, Plain] = None,
    step: Annotated[str | None, Plain] = None,
    failure_class: Annotated[
        str | None, Query(alias="class", max_length=200, pattern=r"^[^\x00]*$", description="of the failure")
    ] = None,
    reason: Annotated[str | None, Plain] = None,
    fingerprint: Annotated[
        str | None, Query(max_length=200, pattern=r"^[^\x00]*$", description="of a group")
    ] = None,
    since: Annotated[str | None, _Moment] = None,
    until: Annotated[str | None, _Moment] = None,
    filter: Annotated[  # noqa: A002 -- the parameter's name
        str | None,
        Query(
            max_length=MAX_LENGTH,
            description="a filter of dead letters; the parameters are further terms of it",
        ),
    ] = None,
) -> LetterFilter:
    """Reads the filter of a request."""
    given = cast("list[LetterStatus] | None", read_statuses(STATUSES, status))
    now = datetime.now(UTC)
    return LetterFilter(
        statuses=STATUSES if all else (given or ("open",)),
        execution_id=execution,
        workflow=workflow,
        step=step,
        failure_class=failure_class,
        reason=reason,
        fingerprint=fingerprint,
        since=None if since is None else moment_of(since, now),
        until=None if until is None else moment_of(until, now, "until"),
        terms=parse_letter_filter(filter or ""),
    )


Wanted = Annotated[LetterFilter, Depends(wanted_letters)]


@router.get("", **described(list[DeadLetter]))
async def list_letters(
    request: Request,
    wanted: Wanted,
    before: Annotated[int | None, Query(ge=1, le=LARGEST_ID)] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> Response:
    """Lists dead letters.

    The newest failure comes first. To get the next page, give the id of the last letter as `before`.
    """
    return answer_view(await engine(request).letters.list(wanted, before=before, limit=limit))


@router.get("/groups", **described(list[LetterGroup]))
async def group_letters(
    request: Request, wanted: Wanted, limit: Annotated[int, Query(ge=1, le=500)] = 20
) -> Response:
    """Groups dead letters by their cause.

    Letters with the same fingerprint are one group. The largest comes first.
    """
    return answer_view(await engine(request).letters.groups(wanted, limit=limit))


@router.get("/{letter_id}", **described(DeadLetterInFull))
async def get_letter(request: Request, letter_id: Annotated[int, Path(ge=1, le=LARGEST_ID)]) -> Response:
    """Returns a dead letter.

    The answer has the history of its item, its last failure, its input and the last decision.
    """
    return answer_view(await engine(request).letters.get(letter_id))


@router.post("/redrive", **described(LettersChanged, body=bodies.REDRIVE))
async def redrive(request: Request) -> Response:
    """Starts the items of dead letters again.

    With `ids`, all of these letters are redriven, or none if one of them cannot be. With `filter`, a bulk job (`bulk`)
    with a `rate` and a `canary` redrives the letters that fit, and is started unless a `preview` is wanted.
    """
    body = await read_body(request, bodies.REDRIVE)
    who = actor(request)
    if body.ids is not None:
        done = await engine(request).letters.redrive(body.ids, actor=who, reason=body.reason)
        return answer_view(done)
    assert body.filter is not None, "the reader of the body asks for one of the two"
    jobs = engine(request).bulk
    job = await jobs.redrive_letters(
        _filter_of(body.filter),
        reason=body.reason or "",
        actor=who,
        rate=body.rate,
        canary=body.canary,
        max_failed=body.max_failed,
    )
    if job.total and not body.preview:
        await jobs.start(job.id, actor=who)
    return answer_view(LettersChanged(changed=0, ids=[], bulk=job.id))


@router.post("/discard", **described(LettersChanged, body=bodies.DISCARD))
async def discard(request: Request) -> Response:
    """Discards dead letters with a note.

    `ids` names the letters, or `filter` selects open ones.
    """
    body = await read_body(request, bodies.DISCARD)
    letters, who = engine(request).letters, actor(request)
    if body.ids is not None:
        return answer_view(await letters.discard(body.ids, actor=who, note=body.note))
    assert body.filter is not None, "the reader of the body asks for one of the two"
    return answer_view(await letters.discard_matching(_filter_of(body.filter), actor=who, note=body.note))


def _filter_of(selection: bodies.LetterSelection | str) -> LetterFilter:
    if isinstance(selection, str):
        return LetterFilter(terms=parse_letter_filter(selection))
    now = datetime.now(UTC)
    return LetterFilter(
        execution_id=selection.execution,
        workflow=selection.workflow,
        step=selection.step,
        failure_class=selection.failure_class,
        reason=selection.reason,
        fingerprint=selection.fingerprint,
        since=None if selection.since is None else moment_of(selection.since, now),
        until=None if selection.until is None else moment_of(selection.until, now, "until"),
    )
