"""Defines the body of a request for a bulk job."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, Meta

from tenax.model.filters.parse import MAX_LENGTH
from tenax.model.wire_types import PLAIN, Name
from tenax.server.schema.body import Body
from tenax.server.schema.requests import PersonBody


class BulkWanted(PersonBody, frozen=True):
    """Makes a bulk job as a preview."""

    action: Annotated[
        str,
        Meta(
            max_length=100,
            description="cancel, complete, fail, pause, redrive, reschedule, reset, resolve, resume or retry",
        ),
    ]
    filter: Annotated[
        str,
        Meta(
            max_length=MAX_LENGTH,
            description="a filter of executions, or of dead letters if the action is redrive",
        ),
    ]
    reason: Annotated[str, Meta(max_length=1000, pattern=PLAIN)]
    rate: Annotated[float, Meta(gt=0, description="How many executions it acts on in a second.")] | None = (
        None
    )
    canary: Annotated[int, Meta(ge=1, description="How many executions it acts on first.")] | None = None
    max_failed: (
        Annotated[float, Meta(ge=0, le=100, description="The percentage of the canary that may fail.")] | None
    ) = None
    step: Name | None = None
    result: Any = UNSET
    policy: dict[str, Any] | None = None


BULK = Body(BulkWanted)
