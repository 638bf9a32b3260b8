"""What people see: the views that the engine gives, each a typed value. A server encodes them as they are.

Times are RFC 3339, in UTC, by the database's clock.
"""

from __future__ import annotations

from typing import Any, Literal

from tenax.model.values import Value

ExecutionStatus = Literal["running", "paused", "completed", "failed", "cancelled"]


class View(Value):
    """A view, or a part of one. All its fields are always there."""


class Tree(View):
    """An execution and its children. `more` is how many children there are beyond those that are shown."""

    id: int
    workflow: str
    status: ExecutionStatus
    step: str | None
    """The step of the parent that started it. Like the next two null at the top."""
    item: int | None
    attempt: int | None
    failure: dict[str, Any] | None
    created_at: str
    finished_at: str | None
    children: list[Tree]
    more: int


class Queue(View):
    """A queue: what is in it, who serves it, and how it is limited."""

    queue: str
    ready: int
    waiting: int
    """Retries that are not due yet."""
    running: int
    blocked: int
    """As many as may run already: these wait for one to end."""
    oldest_at: str | None
    """Since when the first of the ready ones waits."""
    workers: int
    """Live ones that serve it."""
    concurrency: int | None
    rate: float | None
    burst: int | None


class LimitAnswer(View):
    """The limits of a queue as they now are; null: no such limit."""

    queue: str
    concurrency: int | None
    rate: float | None
    burst: int | None
