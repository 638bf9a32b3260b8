"""Reads what the overview shows. Every part is kept for all who look, so that no request waits for a slow one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from tenax.model.filters.letters import LetterFilter
from tenax.model.letters.views import LetterGroup
from tenax.model.metrics.figures import Overview, RetryStats
from tenax.model.metrics.pages import StateCounts
from tenax.model.metrics.series import Series
from tenax.ui.dashboard import Dashboard
from tenax.ui.live.kept import KeptReading, value_of
from tenax.ui.pages.overview.ranges import LENGTHS, Range

GROUPS_SHOWN = 10
TREND_SPANS = 24
RECENT: Range = "6h"


@dataclass(frozen=True, slots=True)
class Failures:
    """Holds the largest groups of dead letters, read together with their trends."""

    groups: Sequence[LetterGroup]
    trends: Mapping[str, Sequence[int]]
    """Counts the letters of each fingerprint by the time of their last failure."""


@dataclass(frozen=True, slots=True)
class Readings:
    """Holds the parts of the overview. A part that was never read yet is None."""

    now: Overview | None
    series: Series | None
    recent: Series | None
    """The series of the last hours, which say since when an alert fires."""
    returns: RetryStats | None
    states: StateCounts | None
    failures: Failures | None
    backlog: Sequence[float]
    """Ready items over time, as far as this server has seen them."""
    at: datetime | None
    """When the oldest part was read. None: some part was not read yet."""


async def read_overview(here: Dashboard, chosen: Range) -> Readings:
    """Returns the newest readings of all parts."""
    engine, newest = here.engine, here.readings.newest
    now, series, recent, returns, states, failures = await asyncio.gather(
        newest("figures", lambda: _figures(here)),
        newest(("series", chosen), _series(here, chosen)),
        newest(("series", RECENT), _series(here, RECENT)),
        newest(("returns", chosen), lambda: engine.metrics.stats(by="reason", since=_begin(chosen))),
        newest("states", engine.count),
        newest(("failures", chosen), lambda: _failures(here, chosen)),
    )
    parts: list[KeptReading[object] | None] = [now, series, recent, returns, states, failures]
    read = [part.at for part in parts if part is not None]
    return Readings(
        now=value_of(now),
        series=value_of(series),
        recent=value_of(recent),
        returns=value_of(returns),
        states=value_of(states),
        failures=value_of(failures),
        backlog=here.backlog.since(_begin(chosen)),
        at=min(read) if len(read) == len(parts) else None,
    )


def _begin(chosen: Range) -> datetime:
    return datetime.now(UTC) - LENGTHS[chosen]


async def _figures(here: Dashboard) -> Overview:
    found = await here.engine.metrics.overview()
    here.backlog.note(datetime.now(UTC), sum(one.ready for one in found.queues))
    return found


def _series(here: Dashboard, chosen: Range) -> Callable[[], Awaitable[Series]]:
    return lambda: here.engine.metrics.over_time.series(since=_begin(chosen))


async def _failures(here: Dashboard, chosen: Range) -> Failures:
    letters = here.engine.letters
    groups = await letters.groups(LetterFilter(), limit=GROUPS_SHOWN)
    names = [one.fingerprint for one in groups]
    trends = await letters.trends(names, since=_begin(chosen), spans=TREND_SPANS) if names else []
    return Failures(groups, {one.fingerprint: one.counts for one in trends})
