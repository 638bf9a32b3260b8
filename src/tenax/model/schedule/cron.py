"""Finds the ticks of a cron expression in a time zone.

The rules for clock changes are those of Debian's cron. An expression whose minute and hour are both given names local times:
one that the clocks skip comes as soon as they have skipped it, and one that occurs twice comes the first time. Other
expressions follow the clock as it is: they come in both of two equal hours, and not in an hour that is skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo

from cronsim import CronSim, CronSimError

from tenax.model.source.findings import shorten

LONGEST = 200  # characters of an expression
_NAMED = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_EXAMPLE = "write minute, hour, day, month and weekday, such as `0 3 * * *` or `*/15 8-18 * * MON-FRI`"
_TRIED = datetime(2024, 1, 1, tzinfo=UTC)
"""The moment from which an expression is tried out when it is read."""


def check_cron(expression: str) -> str:
    """Returns an expression with its names written out. Raises a ValueError that says what is wrong with it."""
    given = " ".join(expression.split())
    written = _NAMED.get(given.lower(), given)
    shown = f"`{shorten(given)}`"
    if len(written) > LONGEST:
        raise ValueError(f"a cron expression has at most {LONGEST} characters")
    try:
        found = next(CronSim(written, _TRIED), None)
    except CronSimError as error:
        fault = str(error)[:1].lower() + str(error)[1:]
        raise ValueError(f"{shown} is not a cron expression ({fault}): {_EXAMPLE}") from None
    except (AssertionError, ValueError, RecursionError):  # how the library meets some odd texts
        raise ValueError(f"{shown} is not a cron expression: {_EXAMPLE}") from None
    if found is None:
        raise ValueError(f"{shown} never comes: no day fits it")
    return written


def next_cron(expression: str, zone: tzinfo, after: datetime) -> datetime | None:
    """Returns the first tick after a moment, in UTC. Returns None if there is none for 50 years."""
    return next(_ticks(expression, zone, after), None)


def cron_ticks(expression: str, zone: tzinfo, after: datetime, until: datetime) -> list[datetime]:
    """Returns all ticks after a moment up to another one, in UTC."""
    found: list[datetime] = []
    for tick in _ticks(expression, zone, after):
        if tick > until:
            break
        found.append(tick)
    return found


def _ticks(expression: str, zone: tzinfo, after: datetime) -> Iterator[datetime]:
    """Yields the ticks after a moment."""
    after = after.astimezone(UTC)
    minute, hour, *rest = expression.split()
    names_times = len(rest) == 3 and not minute.startswith("*") and not hour.startswith("*")
    return (_local_times if names_times or zone is UTC else _times_of_clock)(expression, zone, after)


def _local_times(expression: str, zone: tzinfo, after: datetime) -> Iterator[datetime]:
    """Yields the ticks of an expression that names local times.

    Two times that the clocks skip may be the same moment, which is one tick. In the second of two equal hours the library goes
    on from a time that has come before.
    """
    last = after
    for local in CronSim(expression, after.astimezone(zone)):
        tick = local.astimezone(UTC)
        if tick > last:
            last = tick
            yield tick


def _times_of_clock(expression: str, zone: tzinfo, after: datetime) -> Iterator[datetime]:
    """Yields the ticks of an expression that follows the clock.

    From one change of the clock to the next, all local times have the same offset. The library is given no zone: it would
    leave out ticks where clocks change by half an hour.
    """
    at, rest = after, timedelta()
    while True:
        offset = _offset(zone, at)
        for local in CronSim(expression, (at + offset - rest).replace(tzinfo=None)):
            tick = local.replace(tzinfo=UTC) - offset
            change = _next_change(zone, at, tick)
            if change is not None:
                break
            yield tick
            at = tick
        else:
            return
        at, rest = change, timedelta(seconds=1)  # the moment of the change may be a tick itself


def _offset(zone: tzinfo, at: datetime) -> timedelta:
    return at.astimezone(zone).utcoffset() or timedelta()


def _next_change(zone: tzinfo, start: datetime, end: datetime) -> datetime | None:
    """Returns the first second in which the zone has another offset than at the start. Returns None if there is none up to
    the end."""
    offset = _offset(zone, start)
    while start < end:
        day = min(start + timedelta(days=1), end)
        if _offset(zone, day) != offset:
            return _first_of_change(zone, start, day, offset)
        start = day
    return None


def _first_of_change(zone: tzinfo, start: datetime, end: datetime, offset: timedelta) -> datetime:
    first, last = int(start.timestamp()), int(end.timestamp())
    while last - first > 1:
        middle = (first + last) // 2
        if _offset(zone, datetime.fromtimestamp(middle, UTC)) == offset:
            first = middle
        else:
            last = middle
    return datetime.fromtimestamp(last, UTC)
