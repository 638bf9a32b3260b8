"""Defines marks: what an action on an execution writes beside its changes, in the same transaction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tenax.store.connect import Connection
from tenax.store.fleet import workflow_pauses


class Mark(Protocol):
    """Is written in the transaction of an action, so that the action is done exactly once."""

    @property
    def job_id(self) -> int | None:
        """The bulk job that acts, if one does."""

    async def set(self, tx: Connection) -> None: ...


@dataclass(frozen=True, slots=True)
class WorkflowMark:
    """Notes that an execution was paused with its workflow, or that it was resumed with it."""

    execution_id: int
    workflow: str
    paused: bool
    job_id: int | None = None

    async def set(self, tx: Connection) -> None:
        if self.paused:
            await workflow_pauses.note_paused(tx, {self.execution_id: self.workflow})
        else:
            await workflow_pauses.forget_paused(tx, [self.execution_id])
