"""Builds events, and checks stored events against their declarations."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, overload

import msgspec

from tenax.model.events.parts import EventData
from tenax.model.events.types import ATTEMPT_ENDS, DATA_FIELDS, TYPES, Event

__all__ = ["ATTEMPT_ENDS", "EVENT_TYPES", "NAMES", "check_event", "event", "timestamp"]

EVENT_TYPES: tuple[str, ...] = tuple(TYPES)
NAMES: dict[type[Event], str] = {kind: name for name, kind in TYPES.items()}


def event(
    kind: type[Event],
    step: str | None = None,
    item: int | None = None,
    attempt: int | None = None,
    token: str | None = None,
    data: EventData | Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Builds an event as the log stores it. Leaves out fields that are None."""
    body: dict[str, Any] = {"type": NAMES[kind]}
    if step is not None:
        body["step"] = step
    if item is not None:
        body["item"] = item
    if attempt is not None:
        body["attempt"] = attempt
    if token is not None:
        body["token"] = token
    if data is not None:
        body["data"] = data
    return body


def check_event(body: Mapping[str, Any], *, newer: bool = False) -> str | None:
    """Returns how a stored event differs from the declaration of its type. Returns None if it conforms.

    `newer` allows unknown fields in the data, since a later version may have written the event.
    """
    kind = TYPES.get(body.get("type", ""))
    if kind is None:
        return f"there is no event type {body.get('type')!r}"
    if newer and body.get("data"):
        known = DATA_FIELDS[NAMES[kind]]
        body = {**body, "data": {name: value for name, value in body["data"].items() if name in known}}
    try:
        msgspec.convert(body, kind)
    except msgspec.ValidationError as error:
        return str(error)
    return None


@overload
def timestamp(at: datetime) -> str: ...
@overload
def timestamp(at: None) -> None: ...
@overload
def timestamp(at: datetime | None) -> str | None: ...
def timestamp(at: datetime | None) -> str | None:
    """Returns a time as text: RFC 3339, in UTC."""
    return None if at is None else at.isoformat().replace("+00:00", "Z")
