"""Defines the pause of a workflow."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WorkflowPause:
    """Says who paused a workflow, and who lets it go on."""

    workflow: str
    actor: str
    reason: str | None
    resumed_by: str | None
    """The person who resumed it. Its executions are resumed one by one."""
    resumed_why: str | None

    @property
    def holds(self) -> bool:
        return self.resumed_by is None
