"""What a running task can know about its attempt."""

from __future__ import annotations

import logging
from collections.abc import MutableMapping
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from typing import Any

from tenax.errors import UsageError
from tenax.model.wire import Assignment
from tenax.sdk.outcomes import Cancelled


class TaskContext:
    """One attempt, seen from within.

    Made for every attempt, so it holds only what it was made from; the rest is worked out when it is asked for.
    """

    __slots__ = ("_assignment", "_revoked", "_started")

    def __init__(self, assignment: Assignment, *, started: float) -> None:
        """`started` is a Unix time."""
        self._assignment = assignment
        self._started = started
        self._revoked = False

    @property
    def execution_id(self) -> int:
        return self._assignment.execution_id

    @property
    def workflow(self) -> str:
        return self._assignment.workflow

    @property
    def step(self) -> str:
        return self._assignment.step

    @property
    def item_id(self) -> int:
        return self._assignment.item_id

    @property
    def item(self) -> int | None:
        """The place in the list of a fan-out (`for_each`), from 0. None: there is none."""
        return self._assignment.item

    @property
    def compensates(self) -> bool:
        """This attempt undoes what the step did: it runs the step's `compensate`."""
        return self._assignment.compensates

    @property
    def attempt(self) -> int:
        """From 1."""
        return self._assignment.attempt

    @property
    def max_attempts(self) -> int | None:
        """None: unlimited."""
        return self._assignment.max_attempts

    @property
    def is_retry(self) -> bool:
        """An earlier attempt failed. One that was only handed back or snoozed makes no retry."""
        return self._assignment.is_retry

    @property
    def receipt(self) -> str:
        """The same over all attempts of the work item: give it to what you call, so that it can be idempotent."""
        return self._assignment.receipt

    @property
    def deadline(self) -> datetime:
        """When the attempt times out."""
        return datetime.fromtimestamp(self._started, UTC) + timedelta(seconds=self._assignment.timeout)

    @property
    def revoked(self) -> bool:
        """True once the attempt's lease is no longer this worker's."""
        return self._revoked

    @property
    def logger(self) -> logging.LoggerAdapter[logging.Logger]:
        """Logs to `tenax.task`, each line with the execution, step and attempt it belongs to."""
        return _AttemptLogger(logging.getLogger("tenax.task"), self)

    def heartbeat(self) -> None:
        """Call it now and then in long work: raises `Cancelled` where going on is of no use.

        The worker itself keeps the lease alive; this is how a thread, which nobody can stop, learns that it should.
        """
        if self._revoked:
            raise Cancelled(f"the lease of attempt {self.attempt} of step {self.step!r} was revoked")

    def revoke(self) -> None:
        """For the worker: from now on `heartbeat` raises."""
        self._revoked = True


class _AttemptLogger(logging.LoggerAdapter[logging.Logger]):
    def __init__(self, logger: logging.Logger, context: TaskContext) -> None:
        fields = ("execution_id", "workflow", "step", "item", "item_id", "attempt")
        super().__init__(logger, {name: getattr(context, name) for name in fields})

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        own = self.extra or {}
        kwargs["extra"] = {**own, **(kwargs.get("extra") or {})}
        item = "" if own["item"] is None else f" item {own['item']}"
        return f"[{own['execution_id']} {own['step']}{item} attempt {own['attempt']}] {msg}", kwargs


CURRENT: ContextVar[TaskContext] = ContextVar("tenax_task_context")
"""For the worker, which sets it around each attempt."""


def context() -> TaskContext:
    """The context of the attempt that is running here."""
    try:
        return CURRENT.get()
    except LookupError:
        raise UsageError(
            "there is no running attempt here, so there is no context",
            remedy="call tenax.context() from within a task that a worker runs",
        ) from None
