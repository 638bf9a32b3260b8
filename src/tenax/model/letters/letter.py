"""Defines the changes of dead letters, which a transition hands to the store."""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

import msgspec

from tenax.model.json_text import encode

LetterStatus = Literal["open", "redriven", "recovered", "resolved", "discarded"]
"""`open`: the item has failed, or is quarantined. `redriven`: it was started again and has not ended. `recovered`: it
succeeded later. `resolved`: it ended without an outcome of its own, by an operator or with its execution. `discarded`:
an operator has put it aside."""
MESSAGE_KEPT = 2000
"""Characters of the failure's message that a letter keeps. The log has all of it."""


class LetterPlace(NamedTuple):
    """Names the item of a letter by its place. An item that recovery rebuilds gets a new id, and keeps its place."""

    execution_id: int
    step: str
    item_no: int | None
    compensates: bool


class Placed(Protocol):
    """Is an item, or a change of its letter."""

    @property
    def execution_id(self) -> int: ...
    @property
    def step(self) -> str: ...
    @property
    def item_no(self) -> int | None: ...
    @property
    def compensates(self) -> bool: ...


def place_of(item: Placed) -> LetterPlace:
    return LetterPlace(item.execution_id, item.step, item.item_no, item.compensates)


class LetterOpened(msgspec.Struct, gc=False):
    """Opens the letter of an item, or opens it again. The fields are the parameters of `apply_transitions.sql`."""

    item_id: int
    execution_id: int
    workflow: str
    step: str
    item_no: int | None
    compensates: bool
    tolerated: bool
    rule: str
    """The rule of the decision that made the letter."""
    failure_class: str
    reason: str
    message: str
    fingerprint: str
    attempts: int
    """The number of the last attempt."""
    status: LetterStatus = "open"
    """Another status if the item ends in the same transaction, for example with its execution."""


class LetterMoved(msgspec.Struct, gc=False):
    """Gives the letter of an item another status, if it has a letter."""

    execution_id: int
    step: str
    item_no: int | None
    compensates: bool
    status: LetterStatus


LetterChange = LetterOpened | LetterMoved


class Letters(dict[LetterPlace, LetterChange]):
    """Holds the changes of letters in one transaction, at most one for each item."""

    def add(self, change: LetterChange) -> None:
        """Adds a change. A letter that was opened in this transaction is opened with its last status."""
        place = place_of(change)
        before = self.get(place)
        if isinstance(before, LetterOpened) and isinstance(change, LetterMoved):
            before.status = change.status
        else:
            self[place] = change

    @property
    def opened_text(self) -> str | None:
        """The letters that are opened, as JSON. None if there are none."""
        return self._text(LetterOpened)

    @property
    def moved_text(self) -> str | None:
        """The letters that only get another status, as JSON. None if there are none."""
        return self._text(LetterMoved)

    def _text(self, kind: type[LetterChange]) -> str | None:
        if not self:
            return None
        found = [change for change in self.values() if isinstance(change, kind)]
        return encode(found) if found else None
