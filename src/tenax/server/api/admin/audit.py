"""Shows over HTTP what people did."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.requests import Request
from starlette.responses import Response

from tenax.model.events.audit import AuditEntry, AuditFilter, AuditNames, read_target
from tenax.server.schema.openapi import described
from tenax.server.schema.parameters import Plain, moment_of, refuse_unknown_parameters
from tenax.server.schema.responses import answer_view
from tenax.server.services import engine
from tenax.store.fleet.tokens import LARGEST_ID

router = APIRouter(prefix="/v1/audit", tags=["audit"], dependencies=[Depends(refuse_unknown_parameters)])
_Moment = Query(max_length=100, description="RFC 3339, or how long ago: 1h")
_Place = Query(ge=1, le=LARGEST_ID)


@router.get("", **described(list[AuditEntry]))
async def list_audit(
    request: Request,
    actor: Annotated[str | None, Plain] = None,
    action: Annotated[str | None, Plain] = None,
    target: Annotated[
        str | None,
        Query(
            max_length=300,
            pattern=r"^[^\x00]*$",
            description="a kind, such as `queue`, or one of a kind: `queue:mails`, `execution:17`",
        ),
    ] = None,
    since: Annotated[str | None, _Moment] = None,
    until: Annotated[str | None, _Moment] = None,
    before: Annotated[int | None, _Place] = None,
    after: Annotated[int | None, _Place] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> Response:
    """Lists what people did.

    The newest comes first. Give the id of the last one as `before` for the next page, or that of the first one as `after` for
    the page before.
    """
    now = datetime.now(UTC)
    kind, name = read_target(target)
    wanted = AuditFilter(
        actor=actor,
        action=action,
        kind=kind,
        target=name,
        since=None if since is None else moment_of(since, now),
        until=None if until is None else moment_of(until, now, "until"),
    )
    return answer_view(await engine(request).audit(wanted, before=before, after=after, limit=limit))


@router.get("/names", **described(AuditNames))
async def list_names(request: Request) -> Response:
    """Lists the actors and the actions that occur.

    They are what `actor` and `action` can be.
    """
    return answer_view(await engine(request).audit_names())
