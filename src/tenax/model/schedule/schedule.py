"""Defines a schedule in canonical form, as a workflow file or a request declares it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Literal, get_args

from tenax.model.durations import Seconds
from tenax.model.schedule.moments import moment_text

Overlap = Literal["skip", "queue", "cancel", "allow"]
OVERLAPS: tuple[Overlap, ...] = get_args(Overlap)
DEFAULT_CATCH_UP = 1
MOST_CAUGHT_UP = 1000
MOST_MOMENTS = 100
MOST_FAILURES = 100
SHORTEST_INTERVAL = 1.0  # seconds


@dataclass(frozen=True, slots=True)
class Schedule:
    """Says when executions start by themselves. Exactly one of `cron`, `every` and `at` is given."""

    cron: str | None = None
    every: Seconds | None = None
    at: tuple[datetime, ...] = ()
    """Points in time, in their order."""
    timezone: str = "UTC"
    """The zone of `cron`. All points in time are in UTC already."""
    overlap: Overlap = "skip"
    """What happens at a tick while the last execution still runs."""
    catch_up: int = DEFAULT_CATCH_UP
    """How many missed ticks are made up for, the newest ones."""
    jitter: Seconds | None = None
    """The longest random delay of each tick."""
    pause_after_failures: int | None = None
    """The schedule pauses itself after this many failures in a row."""
    start: datetime | None = None
    end: datetime | None = None
    input: Mapping[str, Any] = field(default_factory=dict)
    """The inputs of its executions."""

    def as_dict(self) -> dict[str, Any]:
        """Returns the canonical form, which is stored and hashed. Fields at their default are left out."""
        body: dict[str, Any] = {}
        for one in fields(self):
            value = getattr(self, one.name)
            if value is None or value == () or (one.name == "input" and not value):
                continue
            if one.default != value:
                body[one.name] = _plain(value)
        return body

    @classmethod
    def from_dict(cls, body: Mapping[str, Any]) -> Schedule:
        values = dict(body)
        for name in ("start", "end"):
            if name in values:
                values[name] = datetime.fromisoformat(values[name])
        if "at" in values:
            values["at"] = tuple(datetime.fromisoformat(text) for text in values["at"])
        return cls(**values)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return moment_text(value)
    if isinstance(value, tuple):
        return [moment_text(one) for one in value]
    return dict(value) if isinstance(value, Mapping) else value
