"""Submits executions in the application's own transaction: they exist if and only if it commits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenax.errors import InvalidInput
from tenax.model.json_text import encode, json_fault
from tenax.model.wire import Submission
from tenax.transactions.drivers import DriverCall, call, call_sync


async def submit(
    connection: Any,
    work: str | Submission,
    input: Mapping[str, Any] | None = None,  # noqa: A002 -- the word of the contract
    *,
    key: str | None = None,
) -> int:
    """Submits a stored workflow by its name, or a `Submission`, with a connection for asyncio. Returns the id of the
    execution, which starts when the transaction commits."""
    return int(await call(connection, _call(work, input, key)))


def submit_sync(
    connection: Any,
    work: str | Submission,
    input: Mapping[str, Any] | None = None,  # noqa: A002 -- the word of the contract
    *,
    key: str | None = None,
) -> int:
    """Does what `submit` does, with a connection that blocks."""
    return int(call_sync(connection, _call(work, input, key)))


def _call(work: str | Submission, given: Mapping[str, Any] | None, key: str | None) -> DriverCall:
    submission = work if isinstance(work, Submission) else Submission(workflow=work)
    values = {**submission.input, **(given or {})}
    if (fault := json_fault(values)) is not None:
        raise InvalidInput(f"the input has {fault}")
    arguments = {
        "workflow": ("text", submission.workflow),
        "input": ("jsonb", encode(values) if values else None),
        "key": ("text", submission.key if key is None else key),
        "source": ("text", submission.source),
        "filename": ("text", submission.filename),
        "base_dir": ("text", submission.base_dir),
        "files": ("jsonb", encode(submission.files) if submission.files else None),
    }
    return DriverCall("submit", arguments)
