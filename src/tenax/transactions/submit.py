"""Submits executions in the application's own transaction: they exist if and only if it commits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from tenax.codec import encode
from tenax.drivers.submissions import request, request_sync
from tenax.model.wire import Submission


async def submit(
    connection: Any,
    work: str | Submission,
    input: Mapping[str, Any] | None = None,  # noqa: A002 -- the word of the contract
    *,
    key: str | None = None,
) -> int:
    """Submits a stored workflow by its name, or a `Submission`, with a connection for asyncio. Returns the id of the
    execution, which starts when the transaction commits."""
    return await request(connection, _submission(work, input, key))


def submit_sync(
    connection: Any,
    work: str | Submission,
    input: Mapping[str, Any] | None = None,  # noqa: A002 -- the word of the contract
    *,
    key: str | None = None,
) -> int:
    """Does what `submit` does, with a connection that blocks."""
    return request_sync(connection, _submission(work, input, key))


def _submission(work: str | Submission, given: Mapping[str, Any] | None, key: str | None) -> Submission:
    submission = work if isinstance(work, Submission) else Submission(workflow=work)
    values = {**submission.input, **encode(dict(given or {}), what="the input")}
    return replace(submission, input=values, key=submission.key if key is None else key)
