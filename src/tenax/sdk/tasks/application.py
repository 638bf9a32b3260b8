"""Defines what tasks and handles need of an application, and finds the one that is open around a call."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

from tenax.errors import UsageError
from tenax.model.wire import Submission, Submitted

T = TypeVar("T")


class Executions(Protocol):
    """Is the part of a client that tasks and handles call."""

    async def submit(self, submission: Submission) -> Submitted: ...

    async def submit_many(self, submissions: Sequence[Submission]) -> Sequence[Submitted]: ...

    async def get(self, execution_id: int) -> Mapping[str, Any]: ...

    async def wait(self, execution_id: int, *, timeout: float | None = None) -> Mapping[str, Any]: ...  # noqa: ASYNC109 -- as of `Client`

    async def cancel(self, execution_id: int, *, reason: str | None = None) -> Any: ...

    async def explain(self, execution_id: int) -> Sequence[Mapping[str, Any]]: ...

    async def diagnose(self, execution_id: int) -> Mapping[str, Any]: ...


class Application(Protocol):
    """Is an open application: `tenax.Tenax`."""

    async def call(self, work: Callable[[Executions], Coroutine[Any, Any, T]]) -> T:
        """Runs `work` with the application's client, in the event loop of the application."""

    def call_sync(self, work: Callable[[Executions], Coroutine[Any, Any, T]]) -> T:
        """Runs `work` from a thread without an event loop, and waits for it."""

    def admit(self, task: str, module: str) -> None:
        """Raises `UsageError` if no worker can run the task."""


CURRENT: ContextVar[Application | None] = ContextVar("tenax_application", default=None)
"""The application that is open around the code that runs."""
_opened: list[Application] = []
"""The applications that are open in this process. The last one serves code that none is open around, such as other threads."""


def enter(application: Application) -> None:
    _opened.append(application)


def leave(application: Application) -> None:
    _opened.remove(application)


def current_application(named: Application | None = None) -> Application:
    """Returns the application to use: the named one, the one that is open around the call, or the last that was opened."""
    found = named or CURRENT.get() or (_opened[-1] if _opened else None)
    if found is None:
        raise UsageError(
            "no application is open, so nothing can be submitted",
            remedy="open one around the call (`async with Tenax():` or `with Tenax.sync():`), or name one: `.options(app=app)`",
        )
    return found
