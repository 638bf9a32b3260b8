"""Names the parts of an execution to which a drawing can lead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """Names what a part of a drawing shows. Fields that do not apply are None."""

    step: str | None = None
    item: int | None = None
    """The number of an item, or of the first one of a range."""
    last_item: int | None = None
    """The last item of a range."""
    state: str | None = None
    """The state of items, for a part that shows only these."""
    attempt: int | None = None
    compensation: bool = False
    child: int | None = None
    """The id of a child execution."""
    seq: int | None = None
    """The number of an event."""


Link = Callable[[Target], str | None]
"""Returns the address for a part of a drawing. None: the part is no link."""


def no_link(_: Target) -> None:
    """Links nothing."""
