"""Reads time zones, and points in time that may be local to one. Names of zones are those of the IANA database."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from tenax.model.source.findings import shorten, suggest

LAST_YEAR = 2999
"""The last year of a time. Times in a calculation then stay far from the end of the calendar."""
MOMENT_PATTERN = r"^\s*\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?([Zz]|[+-]\d{2}:\d{2})?\s*$"
_MOMENT = re.compile(MOMENT_PATTERN, re.ASCII)
_EXAMPLE = "write it as 2030-01-31T09:30:00 (in the schedule's `timezone`) or 2030-01-31T09:30:00Z"
_LONGEST_NAME = 100


@lru_cache(maxsize=256)
def find_zone(name: str) -> tzinfo:
    """Returns a time zone by its name. Raises a ValueError that names the nearest known zone."""
    if name == "UTC":
        return UTC
    try:
        # A name is a path below the folder of the zones, so other texts are refused before they are looked up.
        if len(name) <= _LONGEST_NAME and re.fullmatch(r"[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*", name, re.ASCII):
            return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        pass  # `ZoneInfoNotFoundError` is a KeyError
    hint = suggest(name, sorted(available_timezones()))
    raise ValueError(f"`{shorten(name)}` is not a time zone{hint or '; write a name such as Europe/Zurich'}")


def check_moment(text: str) -> str:
    """Returns a text that is a point in time, with a zone or without. Raises a ValueError that says what to write."""
    shown = f"`{shorten(text)}`"
    if not _MOMENT.fullmatch(text):
        raise ValueError(f"{shown} is not a time: {_EXAMPLE}")
    try:
        moment = datetime.fromisoformat(text.strip().upper())
    except ValueError as error:
        raise ValueError(f"{shown} is not a time ({error}): {_EXAMPLE}") from None
    if not 1970 <= moment.year <= LAST_YEAR:
        raise ValueError(f"{shown} is not within the years 1970 to {LAST_YEAR}")
    return text


def read_moment(text: str, zone: tzinfo) -> datetime:
    """Returns a point in time in UTC. A text without a zone is local time in `zone`.

    A local time that the clocks skip is moved on by as much as they skip. A local time that occurs twice is the first one.
    """
    moment = datetime.fromisoformat(check_moment(text).strip().upper())
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=zone, fold=0)).astimezone(UTC)


def moment_text(moment: datetime) -> str:
    """Returns a point in time as RFC 3339 in UTC."""
    text = moment.astimezone(UTC).isoformat(timespec="microseconds" if moment.microsecond else "seconds")
    return text.replace("+00:00", "Z")


def plus(moment: datetime, seconds: float) -> datetime:
    return moment + timedelta(seconds=seconds)
