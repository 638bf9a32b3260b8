"""What the API answers about workers and queues. A test holds real answers against these types."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import TypeAdapter

from tenax.model.health import WorkerState
from tenax.model.views import LimitAnswer, Queue, Worker, WorkerInFull
from tenax.server.schema.view_types import list_adapter, view_adapter


@dataclass(frozen=True, slots=True)
class WorkerAnswer:
    name: str
    state: WorkerState
    changed: bool
    """False where it was so already."""


@dataclass(frozen=True, slots=True)
class NameAnswer:
    name: str
    changed: bool
    """False where it belonged to no token."""


WORKERS = list_adapter(Worker)
WORKER = view_adapter(WorkerInFull)
WORKER_CHANGED = TypeAdapter(WorkerAnswer)
NAME_RELEASED = TypeAdapter(NameAnswer)
QUEUES = list_adapter(Queue)
LIMITED = view_adapter(LimitAnswer)
