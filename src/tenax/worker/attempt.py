"""An attempt that is running here, and how its lease is handed back."""

from __future__ import annotations

import asyncio
import time
from typing import Literal

from tenax.model.outcome import Outcome
from tenax.model.wire import Assignment, Release
from tenax.sdk.context import TaskContext


class Attempt:
    """One attempt, from its lease to its report."""

    __slots__ = ("assignment", "began", "context", "task", "verdict")

    def __init__(self, assignment: Assignment) -> None:
        self.assignment = assignment
        self.context = TaskContext(assignment, started=time.time())
        self.began = time.monotonic()
        self.task: asyncio.Task[None] | None = None
        self.verdict: Outcome | Release | None = None
        """What is told to the server in the place of the outcome, once the worker itself has ended the attempt."""

    def end(self, verdict: Outcome | Release) -> None:
        if self.verdict is None and self.task is not None:
            self.verdict = verdict
            self.context.revoke()
            self.task.cancel()


def release(assignment: Assignment, reason: Literal["draining", "no_handler"], detail: str) -> Release:
    return Release(
        assignment.execution_id, assignment.item_id, assignment.attempt, assignment.token, reason, detail
    )
