"""Defines the entries of the audit: who did what, to what, when and why."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, NamedTuple, get_args

import msgspec

from tenax.errors import UsageError
from tenax.model.json_text import encode
from tenax.model.values import Value, View

AuditKind = Literal[
    "execution", "dead_letters", "worker", "queue", "workflow", "pack", "bulk", "token", "filter", "schedule"
]
AUDIT_KINDS: tuple[AuditKind, ...] = get_args(AuditKind)
_TARGETS: Mapping[str, AuditKind] = {
    "worker": "worker",
    "queue": "queue",
    "workflow": "workflow",
    "pack": "pack",
    "bulk": "bulk",
}
"""The field of an action's data that names its target, if that is no execution, and the kind of the target."""
_APART = frozenset(("action", "actor", "reason", *_TARGETS))
"""The fields of an action's data that are columns of their own."""


class AuditEntry(View):
    """Describes what a person did. An actor that begins with `tenax:` is Tenax itself."""

    id: int
    at: str
    actor: str
    action: str
    kind: AuditKind
    target: str | None
    """The id of the execution, the dead letter, the token or the bulk job, or a name. Null: several dead letters."""
    step: str | None
    item: int | None
    reason: str | None
    data: dict[str, Any]
    """What else belongs to the action, such as the new limits of a queue."""


class AuditNames(View):
    """Lists the actors and the actions that occur, for the fields of a filter."""

    actors: list[str]
    actions: list[str]


class AuditFilter(Value):
    """Says which entries are wanted. None: any."""

    actor: str | None = None
    action: str | None = None
    kind: AuditKind | None = None
    target: str | None = None
    since: datetime | None = None
    until: datetime | None = None


class NewEntry(NamedTuple):
    """Is an entry to store. The database gives it its time."""

    actor: str
    action: str
    kind: AuditKind
    target: str | None
    step: str | None = None
    item: int | None = None
    reason: str | None = None
    data: Mapping[str, Any] | None = None


def entry_of(action: Mapping[str, Any], execution_id: int | None = None, **more: Any) -> NewEntry:
    """Returns the entry for an event `operator_action`: one of this execution, or else of what its data names. `more` is
    added to its data."""
    data: dict[str, Any] = msgspec.json.decode(encode(action["data"]))
    kind: AuditKind = "execution"
    target = str(execution_id)
    if execution_id is None:
        field = next(name for name in _TARGETS if name in data)
        kind, target = _TARGETS[field], str(data[field])
    rest = {name: value for name, value in data.items() if name not in _APART} | more
    step, item = action.get("step"), action.get("item")
    return NewEntry(data["actor"], data["action"], kind, target, step, item, data["reason"], rest or None)


def read_target(text: str | None) -> tuple[AuditKind | None, str | None]:
    """Reads a target: KIND, or KIND:NAME. Raises UsageError if there is no such kind."""
    if text is None:
        return None, None
    kind, _, name = text.partition(":")
    for known in AUDIT_KINDS:
        if kind == known:
            return known, name or None
    raise UsageError(
        f"there is no kind of target {kind[:100]!r}", remedy=f"the kinds are {', '.join(AUDIT_KINDS)}"
    )
