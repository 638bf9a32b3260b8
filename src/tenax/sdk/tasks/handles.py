"""Defines handles, by which code waits for the executions of tasks that it has submitted."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar

from tenax.sdk.tasks.application import Application, Executions
from tenax.sdk.tasks.failures import result_of

R = TypeVar("R")


class _AnyHandle(Generic[R]):
    """Holds what both kinds of handles share."""

    __slots__ = ("_app", "_decode", "created", "id")

    def __init__(
        self, app: Application, execution_id: int, decode: Callable[[Any], R], *, created: bool = True
    ) -> None:
        self.id = execution_id
        """The id of the execution."""
        self.created = created
        """False if an execution with this key existed already. The handle is that execution's."""
        self._app = app
        self._decode = decode

    async def _result(self, client: Executions, timeout: float | None) -> R:  # noqa: ASYNC109 -- passed on
        execution = await client.wait(self.id, timeout=timeout)
        return self._decode(await result_of(client, execution))

    async def _status(self, client: Executions) -> str:
        return str((await client.get(self.id))["status"])

    async def _cancel(self, client: Executions, reason: str | None) -> None:
        await client.cancel(self.id, reason=reason)

    async def _explain(self, client: Executions) -> str:
        explained = [str(one["text"]) for one in await client.explain(self.id)]
        return "\n\n".join(explained) or str((await client.diagnose(self.id))["sentence"])

    def __repr__(self) -> str:
        return f"<handle of execution {self.id}>"


class Handle(_AnyHandle[R]):
    """Stands for the execution of a task. `await handle` gives the result."""

    __slots__ = ()

    async def result(self, timeout: float | None = None) -> R:  # noqa: ASYNC109 -- a limit of the wait, not of the work
        """Waits for the end, and returns the result. Raises `TaskFailed`, or `TimeoutError` after `timeout` seconds.

        The execution goes on after a `TimeoutError`.
        """
        return await self._app.call(lambda client: self._result(client, timeout))

    def __await__(self) -> Generator[Any, None, R]:
        return self.result().__await__()

    async def status(self) -> str:
        """Returns the state of the execution: `running`, `completed`, `failed`, ..."""
        return await self._app.call(self._status)

    async def cancel(self, reason: str | None = None) -> None:
        await self._app.call(lambda client: self._cancel(client, reason))

    async def explain(self) -> str:
        """Explains the decisions on all attempts so far. Without any, says why the execution is in its state."""
        return await self._app.call(self._explain)

    def sync(self) -> SyncHandle[R]:
        """Returns the handle for code without an event loop."""
        return SyncHandle(self._app, self.id, self._decode, created=self.created)


class SyncHandle(_AnyHandle[R]):
    """Stands for the execution of a task, in code without an event loop. Its methods block."""

    __slots__ = ()

    def result(self, timeout: float | None = None) -> R:
        """Waits for the end, and returns the result. Raises `TaskFailed`, or `TimeoutError` after `timeout` seconds.

        The execution goes on after a `TimeoutError`.
        """
        return self._app.call_sync(lambda client: self._result(client, timeout))

    def status(self) -> str:
        """Returns the state of the execution: `running`, `completed`, `failed`, ..."""
        return self._app.call_sync(self._status)

    def cancel(self, reason: str | None = None) -> None:
        self._app.call_sync(lambda client: self._cancel(client, reason))

    def explain(self) -> str:
        """Explains the decisions on all attempts so far. Without any, says why the execution is in its state."""
        return self._app.call_sync(self._explain)
