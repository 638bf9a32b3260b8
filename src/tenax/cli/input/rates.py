"""Defines the flags of the pace of a bulk job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from cyclopts import Group, Parameter

from tenax.model.fleet.queue_limits import parse_rate

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
