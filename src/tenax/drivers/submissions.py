"""Submits executions with a connection of the application: they exist if and only if its transaction commits."""

from __future__ import annotations

from typing import Any

from tenax.drivers.calls import DriverCall
from tenax.drivers.connections import call, call_sync
from tenax.errors import InvalidInput
from tenax.model.json_text import encode, json_fault
from tenax.model.wire import Submission


async def request(connection: Any, submission: Submission) -> int:
    """Submits an execution with a connection for asyncio. Returns its id."""
    return int(await call(connection, _call(submission)))


def request_sync(connection: Any, submission: Submission) -> int:
    """Submits an execution with a connection that blocks. Returns its id."""
    return int(call_sync(connection, _call(submission)))


def _call(submission: Submission) -> DriverCall:
    if (fault := json_fault(submission.input)) is not None:
        raise InvalidInput(f"the input has {fault}")
    arguments = {
        "workflow": ("text", submission.workflow),
        "input": ("jsonb", encode(submission.input) if submission.input else None),
        "key": ("text", submission.key),
        "source": ("text", submission.source),
        "filename": ("text", submission.filename),
        "base_dir": ("text", submission.base_dir),
        "files": ("jsonb", encode(submission.files) if submission.files else None),
    }
    return DriverCall("submit", arguments)
