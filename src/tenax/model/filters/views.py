"""Defines the views of saved filters and of bulk jobs."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import field

from tenax.model.values import View
from tenax.model.views import ExecutionStatus

BulkState = Literal["preview", "running", "stopped", "completed"]


class SavedFilter(View):
    """Describes a filter that was saved by name."""

    name: str
    filter: str
    actor: str
    """The person who saved it last."""
    saved_at: str


class SavedFilterAnswer(View):
    name: str
    filter: str
    created: bool
    """False if it took the place of an earlier filter of this name."""


class RemovedFilter(View):
    name: str
    removed: bool


class BulkCounts(View):
    """Counts the executions of a bulk job by what became of them."""

    pending: int
    done: int
    skipped: int
    failed: int


class BulkSample(View):
    """Describes one of the first executions of a bulk job."""

    id: int
    workflow: str
    status: ExecutionStatus
    class_: str | None = field(name="class")
    reason: str | None
    letter: int | None
    """The dead letter that is to be redriven. The class, the reason, the step and the item are then those of the letter."""
    step: str | None
    item: int | None


class BulkProblem(View):
    """Names an execution that was not acted on, and says why."""

    id: int
    letter: int | None
    """The dead letter that was not redriven."""
    state: Literal["skipped", "failed"]
    note: str


class BulkJob(View):
    """Describes a bulk job. Its executions, or its dead letters, were fixed when it was made."""

    id: int
    action: str
    state: BulkState
    filter: str
    """The filter that chose the executions, with the terms of saved filters and with fixed times."""
    reason: str
    actor: str
    """The person who made it."""
    started_by: str | None
    """The person who started or resumed it last, who is the actor of its actions."""
    note: str | None
    """Why it stopped."""
    rate: float | None
    """Executions that it acts on in a second, at most. Null: no limit."""
    canary: int | None
    max_failed: float | None
    step: str | None
    """The step that it acts on. Null: the action chooses the step in each execution."""
    result: Any
    """The result that `complete` gives."""
    policy: dict[str, Any] | None
    """The fields of the policy that `reschedule` gives."""
    canary_state: Literal["open", "passed", "failed", "overruled"] | None
    """`open` until the first `canary` executions have ended. `overruled`: a person resumed the job after it had failed."""
    total: int
    counts: BulkCounts
    created_at: str
    started_at: str | None
    finished_at: str | None
    sample: list[BulkSample]
    """The first executions. Lists of jobs leave them out."""
    problems: list[BulkProblem]
    """The first executions that were skipped or that failed. Lists of jobs leave them out."""
