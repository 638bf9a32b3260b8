"""Finds the ticks of a schedule: the times at which its executions start. Uses no clock."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from datetime import UTC, datetime, timedelta

from tenax.model.schedule.cron import cron_ticks, next_cron
from tenax.model.schedule.moments import find_zone
from tenax.model.schedule.schedule import Schedule

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INSTANT = timedelta(microseconds=1)
_FIRST_WINDOW = timedelta(minutes=5)
_GROWTH = 4
"""How much longer each window is in which the newest ticks are looked for."""


def next_after(schedule: Schedule, moment: datetime) -> datetime | None:
    """Returns the first tick after a moment, in UTC. Returns None if there is none any more."""
    after = moment if schedule.start is None else max(moment, schedule.start - _INSTANT)
    if schedule.cron is not None:
        tick = next_cron(schedule.cron, find_zone(schedule.timezone), after)
    elif schedule.every is not None:
        tick = _next_interval(schedule, schedule.every, after)
    else:
        place = bisect_right(schedule.at, after)
        tick = schedule.at[place] if place < len(schedule.at) else None
    return None if tick is None or (schedule.end is not None and tick > schedule.end) else tick


def next_ticks(schedule: Schedule, moment: datetime, most: int) -> list[datetime]:
    """Returns the next ticks after a moment."""
    found: list[datetime] = []
    after = moment
    while len(found) < most and (tick := next_after(schedule, after)) is not None:
        found.append(tick)
        after = tick
    return found


def newest_ticks(schedule: Schedule, first: datetime, until: datetime, most: int) -> list[datetime]:
    """Returns the newest ticks from `first`, which is one, up to a moment: at most `most`, in their order.

    Looks back only as far as needed. After a long time there may be millions of ticks.
    """
    earliest = first - _INSTANT
    if schedule.end is not None:
        until = min(until, schedule.end)
    window = _FIRST_WINDOW
    while True:
        after = max(until - window, earliest)
        found = _between(schedule, after, until, most)
        if len(found) >= most or after == earliest:
            return found[-most:]
        window *= _GROWTH


def delay_of(name: str, schedule: Schedule, tick: datetime) -> timedelta:
    """Returns the random delay of a tick. It is the same on every server, and shorter than the time to the next tick."""
    if schedule.jitter is None:
        return timedelta()
    longest = timedelta(seconds=schedule.jitter)
    following = next_after(schedule, tick)
    if following is not None:
        longest = min(longest, following - tick)
    digest = hashlib.sha256(f"{name}|{tick.isoformat()}".encode()).digest()
    return longest * (int.from_bytes(digest[:6]) / 2**48)


def _between(schedule: Schedule, after: datetime, until: datetime, most: int) -> list[datetime]:
    if schedule.cron is not None:
        return cron_ticks(schedule.cron, find_zone(schedule.timezone), after, until)
    if schedule.every is not None:
        step = timedelta(seconds=schedule.every)
        after = max(after, until - most * step)
        return [tick for tick in next_ticks(schedule, after, most) if tick <= until]
    return [tick for tick in schedule.at if after < tick <= until]


def _next_interval(schedule: Schedule, every: float, after: datetime) -> datetime:
    """Returns the first multiple of the interval after a moment, counted from `start`, or else from 1970."""
    origin = schedule.start or _EPOCH
    step = timedelta(seconds=every)
    return origin + ((after - origin) // step + 1) * step
