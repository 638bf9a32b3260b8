"""Runs attempts, with one executor for each runtime. Executors report facts and judge nothing."""

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
        """Runs one attempt and enforces its timeout. When cancelled, ends the work as far as possible."""
        ...

    async def close(self) -> None: ...
