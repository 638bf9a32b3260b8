"""Defines the bodies of requests on dead letters."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from tenax.model.filters.parse import MAX_LENGTH
from tenax.model.wire_types import PLAIN, Id, Name, Text
from tenax.server.schema.body import Body, Misfit
from tenax.server.schema.requests import PersonBody

MAX_IDS = 1000
"""Letters that one request may name."""
Ids = Annotated[list[Id], Meta(min_length=1, max_length=MAX_IDS)]
Moment = Annotated[str, Meta(max_length=100, pattern=PLAIN, description="RFC 3339, or how long ago: 1h")]


class LetterSelection(PersonBody, frozen=True):
    """Selects open dead letters. At least one field is needed."""

    execution: Id | None = None
    workflow: Name | None = None
    step: Name | None = None
    failure_class: Name | None = field(name="class", default=None)
    reason: Name | None = None
    fingerprint: Name | None = None
    since: Moment | None = None
    until: Moment | None = None


LetterFilterText = Annotated[
    str, Meta(max_length=MAX_LENGTH, description="a filter of dead letters, as text")
]


class Redrive(PersonBody, frozen=True):
    """Starts the items of dead letters again: of the letters in `ids`, or, by a bulk job, of the letters that fit `filter`."""

    ids: Ids | None = None
    reason: Text | None = None
    filter: LetterSelection | LetterFilterText | None = None
    rate: (
        Annotated[float, Meta(gt=0, description="How many letters the job redrives in a second.")] | None
    ) = None
    canary: Annotated[int, Meta(ge=1, description="How many letters the job redrives first.")] | None = None
    max_failed: (
        Annotated[float, Meta(ge=0, le=100, description="The percentage of the canary that may fail.")] | None
    ) = None
    preview: bool = False


class Discard(PersonBody, frozen=True):
    """Discards dead letters: the letters in `ids`, or the open ones that fit `filter`. One of the two is needed."""

    note: Annotated[str, Meta(min_length=1, max_length=1000, pattern=PLAIN, description="Why.")]
    ids: Ids | None = None
    filter: LetterSelection | LetterFilterText | None = None


def _fit_redrive(sent: Redrive) -> Redrive:
    if (sent.ids is None) == (sent.filter is None):
        raise Misfit("either `ids` or `filter` is needed, and not both")
    if sent.filter is None and (
        sent.preview or (sent.rate, sent.canary, sent.max_failed) != (None, None, None)
    ):
        raise Misfit("`rate`, `canary`, `max_failed` and `preview` go with a `filter`")
    return sent


def _fit_discard(sent: Discard) -> Discard:
    if (sent.ids is None) == (sent.filter is None):
        raise Misfit("either `ids` or `filter` is needed, and not both")
    return sent


REDRIVE = Body(Redrive, _fit_redrive)
DISCARD = Body(Discard, _fit_discard)
