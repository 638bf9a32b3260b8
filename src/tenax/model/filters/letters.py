"""Defines filters of dead letters, for lists, sums and bulk actions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import get_args

from tenax.model.filters.terms import EVERYTHING, Filter, Match, Term, Time, Words
from tenax.model.letters.letter import LetterStatus

EVERY_STATUS: tuple[LetterStatus, ...] = get_args(LetterStatus)


@dataclass(frozen=True, slots=True)
class LetterFilter:
    """Selects dead letters. None means any value. The fields are short forms of terms, and go together with `terms`."""

    statuses: Sequence[LetterStatus] = ("open",)
    execution_id: int | None = None
    workflow: str | None = None
    step: str | None = None
    failure_class: str | None = None
    reason: str | None = None
    fingerprint: str | None = None
    since: datetime | None = None
    """The earliest time of the last failure."""
    until: datetime | None = None
    """Letters whose last failure is at this time or later are left out."""
    terms: Filter = EVERYTHING
    """The terms of a filter that was given as text."""

    @property
    def is_empty(self) -> bool:
        """Whether it has no condition. A text that names a status has one: it selects all letters with the status."""
        return not self.conditions and not self.terms

    @property
    def all_statuses(self) -> tuple[LetterStatus, ...]:
        """Returns the statuses that it selects: those that its terms name, or else its own."""
        named = [term for term in self.terms.terms if _is_status(term)]
        if not named:
            return tuple(self.statuses)
        return tuple(status for status in EVERY_STATUS if all(_allows(term, status) for term in named))

    @property
    def conditions(self) -> Filter:
        """Returns all its terms but those on the status."""
        own: list[Term] = [
            Words(name, (Match(value),))
            for name, value in (
                ("execution", None if self.execution_id is None else str(self.execution_id)),
                ("workflow", self.workflow),
                ("step", self.step),
                ("class", self.failure_class),
                ("reason", self.reason),
                ("fingerprint", self.fingerprint),
            )
            if value is not None
        ]
        if self.since is not None:
            own.append(Time("since", self.since))
        if self.until is not None:
            own.append(Time("until", self.until))
        return Filter((*own, *(term for term in self.terms.terms if not _is_status(term))))

    @property
    def whole(self) -> Filter:
        """Returns all its conditions as one filter, which can be written as text."""
        statuses = Words("status", tuple(map(Match, self.all_statuses)))
        return Filter((statuses, *self.conditions.terms))


def _is_status(term: Term) -> bool:
    return isinstance(term, Words) and term.field == "status"


def _allows(term: Term, status: LetterStatus) -> bool:
    assert isinstance(term, Words)
    return (status in [match.text for match in term.matches]) != term.negated
