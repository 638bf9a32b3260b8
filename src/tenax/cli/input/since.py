"""Reads `--since`: a time, or a duration back from now."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tenax.errors import UsageError
from tenax.model.durations import parse_duration
from tenax.model.parse.findings import shorten


def parse_since(text: str | None) -> datetime | None:
    """Reads a time, or a duration that is counted back from now."""
    if text is None:
        return None
    try:
        return datetime.now(UTC) - timedelta(seconds=parse_duration(text))
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise UsageError(
            f"--since {shorten(text)}: expected a duration such as 2h or 1d, or a time such as 2026-01-31T12:00:00Z"
        ) from None
