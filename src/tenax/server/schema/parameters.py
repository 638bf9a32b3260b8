"""Declares the parameters that several routes take, and reads their values."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from fastapi import Path, Query
from fastapi.dependencies.models import Dependant
from pydantic import BeforeValidator
from starlette.requests import Request

from tenax.errors import UsageError
from tenax.model.durations import parse_duration, parse_since
from tenax.model.source.findings import nearest
from tenax.model.wire_types import LARGEST_ATTEMPT
from tenax.store.fleet.tokens import LARGEST_ID

_PLAIN = r"^[^\x00]*$"

ExecutionId = Annotated[int, Path(ge=1, le=LARGEST_ID)]
ItemId = Annotated[int, Path(ge=1, le=LARGEST_ID)]
AttemptNumber = Annotated[int, Path(ge=1, le=LARGEST_ATTEMPT)]
StepName = Annotated[str, Path(max_length=200, pattern=_PLAIN)]
WorkerName = Annotated[str, Path(min_length=1, max_length=200, pattern=_PLAIN)]
WorkflowName = Annotated[str, Path(min_length=1, max_length=200, pattern=_PLAIN)]
QueueName = Annotated[str, Path(min_length=1, max_length=200, pattern=_PLAIN)]
ScheduleName = Annotated[str, Path(min_length=1, max_length=200, pattern=_PLAIN)]
FilterName = Annotated[str, Path(min_length=1, max_length=200, pattern=_PLAIN)]
Plain = Query(max_length=200, pattern=_PLAIN)
Duration = BeforeValidator(parse_duration)
"""Reads seconds, or a text such as 20s."""


async def refuse_unknown_parameters(request: Request) -> None:
    """Refuses parameters that the route does not have. If a misspelt filter were ignored, the answer would look right and be wrong."""
    known = _names(request.scope["route"].dependant)
    for name in request.query_params:
        if name not in known:
            raise UsageError(
                f"there is no parameter {name[:100]!r} here",
                remedy=f"there are: {', '.join(known)}" if known else "there are none",
            )


def _names(dependant: Dependant) -> list[str]:
    """Returns the names of the query parameters of a route, and of what it depends on."""
    own = [parameter.alias for parameter in dependant.query_params]
    return own + [name for below in dependant.dependencies for name in _names(below)]


def read_statuses(statuses: Sequence[str], given: Sequence[str] | None) -> list[str] | None:
    """Reads the statuses of a filter, which may be repeated or separated by commas. Returns None if the filter names none."""
    names = [name.strip() for text in given or () for name in text.split(",") if name.strip()]
    for name in names:
        if name not in statuses:
            meant = nearest(name, statuses)
            hint = f"; did you mean {meant!r}?" if meant else ""
            raise UsageError(
                f"there is no status {name[:100]!r}{hint}", remedy=f"the statuses are {', '.join(statuses)}"
            )
    return names or None


def moment_of(text: str, now: datetime, name: str = "since") -> datetime:
    """Reads a time: RFC 3339 (in UTC if it names no zone), or how long ago, such as 1h. `name` is named in the error."""
    try:
        return parse_since(text, now)
    except ValueError as error:
        raise UsageError(
            f"{name}: {error}", remedy="write 2026-01-31T12:00:00Z, or how long ago: 30m, 1h, 7d"
        ) from None
