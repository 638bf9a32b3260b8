"""Reads rates, such as 10/s or 600/m."""

from __future__ import annotations

import re

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
