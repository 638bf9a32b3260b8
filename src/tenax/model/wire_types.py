"""Defines the types of fields that strangers send, with their bounds. They are used to read bodies and to describe the API."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Meta

from tenax.model.durations import LONGEST
from tenax.model.names import MAX_WORKER_NAME

BATCH = 1000
"""The most submissions, reports or releases in one request."""
SLOTS = 1000
"""The most work items that one worker runs at once."""
FILES = 1000
"""The most definitions of children in one submission. `max_body` limits their total size."""
LONGEST_LEASE_WAIT = 60.0
"""Seconds that a request for work may wait in the server."""
LARGEST_ID = 2**63 - 1
LARGEST_ATTEMPT = 2**31 - 1
LARGEST_COUNT = 2**31 - 1
LARGEST_LIMIT = 1_000_000
OUTPUT_PART = 131_072
"""Characters of one part of an attempt's output."""

# The text type of PostgreSQL cannot hold NUL.
PLAIN = r"^[^\x00]*$"

Id = Annotated[int, Meta(ge=1, le=LARGEST_ID)]
Attempt = Annotated[int, Meta(ge=0, le=LARGEST_ATTEMPT)]
Item = Annotated[int, Meta(ge=0, le=LARGEST_ATTEMPT)]
Limit = Annotated[int, Meta(ge=1, le=LARGEST_LIMIT)]
Slots = Annotated[int, Meta(ge=1, le=SLOTS)]
LeaseWait = Annotated[float, Meta(ge=0, le=LONGEST_LEASE_WAIT)]
Token = Annotated[str, Meta(extra_json_schema={"format": "uuid"})]
"""A UUID in any spelling. The server converts it to canonical form before it compares tokens."""
Name = Annotated[str, Meta(min_length=1, max_length=200, pattern=PLAIN)]
WorkerName = Annotated[str, Meta(min_length=1, max_length=MAX_WORKER_NAME)]
Names = Annotated[tuple[Name, ...], Meta(max_length=100)]
Time = Annotated[datetime, Meta(tz=True)]
"""A point in time with its zone, as RFC 3339."""
Delay = Annotated[float, Meta(ge=0, le=LONGEST)]
Labels = Annotated[dict[Name, Annotated[str, Meta(max_length=200, pattern=PLAIN)]], Meta(max_length=100)]
Text = Annotated[str, Meta(max_length=1000, pattern=PLAIN)]
Source = Annotated[str, Meta(pattern=PLAIN)]
Count = Annotated[int, Meta(ge=0, le=LARGEST_COUNT)]
Fraction = Annotated[float, Meta(ge=0, le=1)]
OutputPlace = Annotated[int, Meta(ge=0, le=LARGEST_ID // 2)]
OutputText = Annotated[str, Meta(min_length=1, max_length=OUTPUT_PART, pattern=PLAIN)]
Files = Annotated[
    dict[Annotated[str, Meta(min_length=1, max_length=1000, pattern=PLAIN)], Source], Meta(max_length=FILES)
]
