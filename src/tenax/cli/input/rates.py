"""Reads rates, such as 10/s or 600/m, and defines the flags of the pace of a bulk job."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from cyclopts import Group, Parameter

from tenax.errors import UsageError
from tenax.model.fleet.queue_limits import MAX_LIMIT, MIN_RATE, PER_SECOND
from tenax.model.source.findings import shorten

_RATE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*/\s*(s|m|h|d)", re.ASCII)


def parse_rate(flag: str, text: str, *, or_else: str = "") -> float:
    """Returns a rate per second. `or_else` names what the flag takes beside rates, for the error."""
    found = _RATE.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"{flag} {shorten(text)}: expected a rate such as 10/s, 600/m or 60/h{or_else}")
    rate = float(found[1]) / PER_SECOND[found[2]]
    if not MIN_RATE <= rate <= MAX_LIMIT:
        raise UsageError(f"{flag} {shorten(text)}: expected a rate from 1/d to {MAX_LIMIT:,}/s{or_else}")
    return rate


_PACE = Group("New jobs", sort_key=80)


@Parameter(name="*", group=_PACE)
@dataclass(frozen=True, slots=True)
class PaceFlags:
    """Says how fast a new job works, and with how many executions it begins."""

    preview: Annotated[
        bool, Parameter(help="Show what the job would act on, and do not start it.", negative=())
    ] = False
    rate: Annotated[str | None, Parameter(help="The pace of the job, such as 10/s or 600/m.")] = None
    canary: Annotated[
        int | None,
        Parameter(help="Act on this many first. Act on the others once these have ended without failing."),
    ] = None
    max_failed: Annotated[float | None, Parameter(help="The percentage of the canary that may fail. [0]")] = (
        None
    )

    @property
    def per_second(self) -> float | None:
        return None if self.rate is None else parse_rate("--rate", self.rate)


NO_PACE = PaceFlags()
"""No flag was given."""
