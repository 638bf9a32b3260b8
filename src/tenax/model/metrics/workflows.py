"""Defines the views of workflows with what their executions came to."""

from __future__ import annotations

from tenax.model.values import View
from tenax.model.views import ExecutionStatus


class WorkflowVersion(View):
    """Describes a definition of a workflow. Its hash is its identity."""

    hash: str
    version: str | None
    """The label that its author gave it."""
    created_at: str
    stored_at: str | None
    """When it was last stored under its name. Null: it was only submitted."""


class WorkflowFigures(View):
    """Says what the executions and attempts of a workflow came to in a span of time. A share is null if there is nothing to divide by."""

    started: int
    """Executions that started."""
    completed: int
    failed: int
    success_rate: float | None
    """The part of the executions that completed or failed which completed."""
    attempts: int
    """Attempts that succeeded or failed."""
    retries: int
    retry_success_rate: float | None


class LastExecution(View):
    id: int
    status: ExecutionStatus
    created_at: str
    finished_at: str | None


class WorkflowRow(View):
    """Describes a workflow in a list: the definition that its name finds, and how it fares."""

    name: str
    newest: WorkflowVersion
    paused_by: str | None
    """The person who paused it. Null: it is not paused."""
    paused_why: str | None
    figures: WorkflowFigures
    last: LastExecution | None
    """Its last execution. Null if it is not among the newest executions of all."""


class WorkflowPage(View):
    """Is a page of the workflows, in the order of their names."""

    workflows: list[WorkflowRow]
    after: str | None
    """The name after which the next page begins. Null: this is the last one."""
    counted_until: str | None
    """The figures are counted up to this time."""
