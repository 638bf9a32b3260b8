"""An attempt that is running here, and how its lease is handed back."""

from __future__ import annotations

import asyncio
import time
from typing import Literal

from tenax.model.attempt.outcome import Outcome
from tenax.model.wire import Assignment, Release
from tenax.sdk.context import TaskContext
from tenax.worker.handlers.json_values import storable


class Attempt:
    """One attempt, from its lease to its report."""

    __slots__ = ("assignment", "began", "context", "task", "verdict")

    def __init__(self, assignment: Assignment) -> None:
        self.assignment = assignment
        self.context = TaskContext(assignment, started=time.time())
        self.began = time.monotonic()
        self.task: asyncio.Task[None] | None = None
        """Where it waits, once it does."""
        self.verdict: Outcome | Release | None = None
        """What is told to the server in the place of the outcome, once the worker itself has ended the attempt."""

    def begin(self) -> None:
        """Raises `CancelledError`, as a task does, where it was told to end before."""
        if self.verdict is not None:
            raise asyncio.CancelledError

    def end(self, verdict: Outcome | Release) -> bool:
        """False where it was told to end before."""
        if self.verdict is not None:
            return False
        self.verdict = verdict
        self.context.revoke()
        if self.task is not None:
            self.task.cancel()
        return True


def release(assignment: Assignment, reason: Literal["draining", "no_handler"], detail: str) -> Release:
    return Release(
        assignment.execution_id,
        assignment.item_id,
        assignment.attempt,
        assignment.token,
        reason,
        storable(detail),
    )
