"""How attempts are run, one file for each runtime. Executors report what they saw; they judge nothing."""

from __future__ import annotations

from typing import Protocol

from tenax.model.attempt.outcome import Outcome
from tenax.model.wire import Assignment
from tenax.sdk.context import TaskContext

RESULT_LIMIT = 8_000_000
"""Bytes of an http answer, and of a result file, unless the setting `max_result` says otherwise."""


class Executor(Protocol):
    """Runs attempts of one runtime."""

    async def run(self, assignment: Assignment, context: TaskContext) -> Outcome:
        """Runs one attempt, its timeout included. Cancelled: the work ends, as far as that can be done."""
        ...

    async def close(self) -> None: ...
