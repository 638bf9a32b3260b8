"""Holds what a transaction knows of an execution that it updates."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from tenax.model.changes import StepRow
from tenax.policy.expressions.meter import WorkBudget
from tenax.policy.plan import Plan
from tenax.store.rows import ExecutionRow

Failure = dict[str, Any]
"""The failure of an execution or a step, as in its events."""


class ExecutionUpdate(Struct, gc=False):
    """Holds an execution that a transaction updates: its locked row, its plan, and the steps that have ended."""

    row: ExecutionRow
    plan: Plan
    budget: WorkBudget
    """The budget of each rendering."""
    ended: list[StepRow] = field(default_factory=list)
    failure: Failure | None = None
    """The failure of the execution, once it fails."""
    complete: bool = False
    unforgiven: set[str] = field(default_factory=set)
    """The failed steps whose `on_failure` value could not be computed."""
