"""Names the ranges of time that the overview shows."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Literal

Range = Literal["15m", "1h", "6h", "24h", "7d"]
DEFAULT_RANGE: Range = "1h"
LENGTHS: Mapping[Range, timedelta] = {
    "15m": timedelta(minutes=15),
    "1h": timedelta(hours=1),
    "6h": timedelta(hours=6),
    "24h": timedelta(hours=24),
    "7d": timedelta(days=7),
}
WORDS: Mapping[Range, str] = {
    "15m": "15 minutes",
    "1h": "1 hour",
    "6h": "6 hours",
    "24h": "24 hours",
    "7d": "7 days",
}
