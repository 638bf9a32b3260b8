"""Types of the fields that strangers send, with their bounds: the reader of a body and the description of the API know them from here."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from tenax.model.names import MAX_WORKER_NAME

BATCH = 1000
"""Submissions, reports or releases in one request."""
SLOTS = 1000
"""Work items that one worker runs at once."""
FILES = 1000
"""Definitions of children that may come with one; `max_body` bounds them all together."""
LONGEST_LEASE_WAIT = 60.0
"""Seconds."""
LARGEST_ID = 2**63 - 1
LARGEST_ATTEMPT = 2**31 - 1
LARGEST_COUNT = 2**31 - 1
LARGEST_LIMIT = 1_000_000

# PostgreSQL's text has no NUL.
PLAIN = r"^[^\x00]*$"

Id = Annotated[int, Meta(ge=1, le=LARGEST_ID)]
Attempt = Annotated[int, Meta(ge=0, le=LARGEST_ATTEMPT)]
Item = Annotated[int, Meta(ge=0, le=LARGEST_ATTEMPT)]
Limit = Annotated[int, Meta(ge=1, le=LARGEST_LIMIT)]
Slots = Annotated[int, Meta(ge=1, le=SLOTS)]
LeaseWait = Annotated[float, Meta(ge=0, le=LONGEST_LEASE_WAIT)]
Token = Annotated[str, Meta(extra_json_schema={"format": "uuid"})]
"""A UUID, in any spelling: the server brings it into the one in which tokens are compared."""
Name = Annotated[str, Meta(min_length=1, max_length=200, pattern=PLAIN)]
WorkerName = Annotated[str, Meta(min_length=1, max_length=MAX_WORKER_NAME)]
Names = Annotated[tuple[Name, ...], Meta(max_length=100)]
Labels = Annotated[dict[Name, Annotated[str, Meta(max_length=200, pattern=PLAIN)]], Meta(max_length=100)]
Text = Annotated[str, Meta(max_length=1000, pattern=PLAIN)]
Source = Annotated[str, Meta(pattern=PLAIN)]
Files = Annotated[
    dict[Annotated[str, Meta(min_length=1, max_length=1000, pattern=PLAIN)], Source], Meta(max_length=FILES)
]
