"""Defines which dead letters a list, a sum or a bulk action means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tenax.model.letters.letter import LetterStatus


@dataclass(frozen=True, slots=True)
class LetterFilter:
    """Selects dead letters. None means any value."""

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

    @property
    def selects_all(self) -> bool:
        """Whether nothing but the status restricts it."""
        return self == LetterFilter(self.statuses)
