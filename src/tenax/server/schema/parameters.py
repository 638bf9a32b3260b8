"""Parameters that several routes take."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from fastapi import Path, Query
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
QueueName = Annotated[str, Path(min_length=1, max_length=200, pattern=_PLAIN)]
FilterName = Annotated[str, Path(min_length=1, max_length=200, pattern=_PLAIN)]
Plain = Query(max_length=200, pattern=_PLAIN)
Duration = BeforeValidator(parse_duration)
"""Reads seconds, or a text such as 20s."""


async def refuse_unknown_parameters(request: Request) -> None:
    """A filter that is misspelt must not be ignored: the answer would look right and not be."""
    known = [parameter.alias for parameter in request.scope["route"].dependant.query_params]
    for name in request.query_params:
        if name not in known:
            raise UsageError(
                f"there is no parameter {name[:100]!r} here",
                remedy=f"there are: {', '.join(known)}" if known else "there are none",
            )


def one_of(statuses: Sequence[str], given: Sequence[str] | None) -> list[str] | None:
    """The statuses of a filter, repeated or with commas. None: all of them."""
    names = [name.strip() for text in given or () for name in text.split(",") if name.strip()]
    for name in names:
        if name not in statuses:
            meant = nearest(name, statuses)
            hint = f"; did you mean {meant!r}?" if meant else ""
            raise UsageError(
                f"there is no status {name[:100]!r}{hint}", remedy=f"the statuses are {', '.join(statuses)}"
            )
    return names or None


def moment_of(text: str, now: datetime) -> datetime:
    """A time as RFC 3339 has it (UTC where it names no zone), or how long ago."""
    try:
        return parse_since(text, now)
    except ValueError as error:
        raise UsageError(
            f"since: {error}", remedy="write 2026-01-31T12:00:00Z, or how long ago: 30m, 1h, 7d"
        ) from None
