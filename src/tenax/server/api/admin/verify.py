"""Checks history page by page."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.requests import Request
from starlette.responses import Response

from tenax.model.views import Verified
from tenax.server.schema.openapi import described
from tenax.server.schema.parameters import moment_of, refuse_unknown_parameters
from tenax.server.schema.responses import answer_view
from tenax.server.services import engine
from tenax.store.fleet.tokens import LARGEST_ID

router = APIRouter(prefix="/v1/verify", tags=["verify"], dependencies=[Depends(refuse_unknown_parameters)])


@router.get("", **described(Verified))
async def verify(
    request: Request,
    execution: Annotated[int | None, Query(ge=1, le=LARGEST_ID, description="only this execution")] = None,
    since: Annotated[
        str | None,
        Query(
            max_length=100,
            description="only executions that were open since then: RFC 3339, or how long ago: 1h",
        ),
    ] = None,
    after: Annotated[int, Query(ge=0, le=LARGEST_ID)] = 0,
) -> Response:
    """Checks the history of executions.

    One page of executions is compared with all laws. To check the next page, give `next` of this answer as `after`,
    until it is null.
    """
    moment = None if since is None else moment_of(since, datetime.now(UTC))
    return answer_view(await engine(request).verify(after=after, since=moment, only=execution))
