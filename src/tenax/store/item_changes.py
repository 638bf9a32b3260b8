"""Defines the changes of items that one statement applies. Each row states the condition under which it is applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, NamedTuple

from tenax.model.changes import ItemAgain
from tenax.model.json_text import encode
from tenax.policy.queued_action import QueuedAction
from tenax.store.array_params import column, lines

Expects = Literal["locked", "running", "last_step", "more_steps"]
"""The condition on an execution under which a change of one of its items is applied: see `apply_transitions.sql`."""


class Change(NamedTuple):
    """A change of one item. The fields are the columns of `apply_transitions`, in their order."""

    item_id: int
    token: str | None
    """The lease token that must still be current. None if the item is locked."""
    execution_id: int
    expects: Expects
    state: str | None = None
    """The new state of the item. None if the item has ended."""
    available_at: datetime | None = None
    expires_at: datetime | None = None
    attempt: int | None = None
    ledger: str | None = None
    last_error: str | None = None
    refused_by: str | None = None
    placed: bool | None = None
    previous: str | None = None
    vary: str | None = None
    keeps_step: bool | None = None
    """True if the step is one of several and has completed, so that its row is written."""
    result: str | None = None
    """The result of the step, if its row is written."""
    whole: str | None = None
    """The result of the execution, if the execution is complete."""
    events: str | None = None
    next: QueuedAction | None = None
    """The only step that follows, if there is one."""


def locked_change(again: ItemAgain) -> Change:
    """Makes the change of an item of a locked execution that goes back to the queue."""
    refused = encode(again.refused_by) if again.refused_by else None
    return Change(
        again.id, None, again.execution_id, "locked", again.state, again.available_at, again.expires_at,
        again.attempt, again.ledger, again.last_error, refused, again.placed, again.previous, again.vary,
    )  # fmt: skip


_TEXT_LINES = {"token", "expects", "ledger", "refused_by", "previous", "vary", "result", "whole", "events"}
"""Columns of a change that are sent as one text, because none of their values has a line break."""
_CHANGE = tuple(
    (f"change_{name.removesuffix('_id')}", name in _TEXT_LINES) for name in Change._fields if name != "next"
)


def change_parameters(
    changes: Sequence[Change], actions: Mapping[QueuedAction, int]
) -> dict[str, Sequence[str | None] | str | None]:
    if not changes:
        return dict.fromkeys([*(name for name, _ in _CHANGE), "change_next"])
    *values, followers = zip(*changes, strict=True)
    found = {
        name: lines(one) if as_lines else column(one)
        for (name, as_lines), one in zip(_CHANGE, values, strict=True)
    }
    return found | {"change_next": column([actions.get(one) for one in followers])}
