"""Reads `--since` and `--until`: a time, or a duration back from now."""

from __future__ import annotations

from datetime import UTC, datetime

from tenax.errors import UsageError
from tenax.model import durations
from tenax.model.source.findings import shorten


def parse_since(text: str | None, *, flag: str = "--since") -> datetime | None:
    """Reads a time, or a duration that is counted back from now. `flag` is named in the error."""
    if text is None:
        return None
    try:
        return durations.parse_since(text, datetime.now(UTC))
    except ValueError:
        raise UsageError(
            f"{flag} {shorten(text)}: expected a duration such as 2h or 1d, or a time such as 2026-01-31T12:00:00Z"
        ) from None
