"""What one execution is within a transaction that takes it onward."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from tenax.model.changes import StepRow
from tenax.policy.expressions.meter import Budget
from tenax.policy.plan import Plan
from tenax.store.rows import ExecutionRow

Failure = dict[str, Any]
"""Why an execution or a step has failed, as its events say it."""


class Turn(Struct, gc=False):
    """One execution within a transaction: its locked row, its plan, and the steps of it that have ended."""

    row: ExecutionRow
    plan: Plan
    budget: Budget
    """What each of its renderings may spend."""
    ended: list[StepRow] = field(default_factory=list)
    failure: Failure | None = None
    """Why the execution fails, once it does."""
    complete: bool = False
    unforgiven: set[str] = field(default_factory=set)
    """Failed steps whose `on_failure` could not be had."""
