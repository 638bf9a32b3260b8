"""Runs `python` steps: a function in the worker's event loop, in a thread, or in a process that can be killed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from tenax.errors import InvalidValue
from tenax.model.attempt.outcome import Outcome
from tenax.model.wire import Assignment
from tenax.sdk.context import CURRENT, TaskContext
from tenax.worker.deadlines import Deadlines
from tenax.worker.executors.child_process import call_in_process
from tenax.worker.handlers.call import bind_arguments, call_sync, success_of
from tenax.worker.handlers.error_outcomes import classified_failure, outcome_of, timeout_failure
from tenax.worker.handlers.registry import Handler, NoHandler, find_handler
from tenax.worker.handlers.threads import ThreadPool
from tenax.worker.live.capture import CAPTURE
from tenax.worker.processes.guardian import Guardian


class PythonExecutor:
    """Runs functions.

    `on_overdue` is called with the number of threads that outlived their attempt and still take up its slot.
    """

    def __init__(self, guardian: Guardian, *, on_overdue: Callable[[int], None] = lambda _: None) -> None:
        self._guardian = guardian
        self._threads = ThreadPool()
        self._deadlines = Deadlines()
        self._handlers: dict[tuple[str, str | None], Handler] = {}
        self._searches: dict[tuple[str, str | None], asyncio.Future[Handler | Outcome | NoHandler]] = {}
        self._on_overdue = on_overdue
        self._overdue = 0
        CAPTURE.open()

    async def run(self, assignment: Assignment, context: TaskContext) -> Outcome:
        """Runs one attempt. Raises `NoHandler` if this worker has no such function."""
        key = (assignment.spec["task"], assignment.base_dir)
        handler = self._handlers.get(key)
        if handler is None:
            found = await self._find(key)
            if isinstance(found, Outcome):
                return found
            handler = self._handlers[key] = found
        handler = handler.renewed()
        if not CAPTURE.is_in_place:
            CAPTURE.renew()
        CURRENT.set(context)  # every attempt runs in a contextvars context of its own
        try:
            args, kwargs = bind_arguments(handler, assignment.spec.get("args"), context)
        except (TypeError, InvalidValue) as error:
            return classified_failure("invalid", "invalid_parameters", str(error))
        if handler.process:
            return await call_in_process(self._guardian, assignment, handler.task.module, context)
        if handler.is_async:
            return await self._in_loop(handler, args, kwargs, assignment.timeout)
        return await self._in_thread(handler, args, kwargs, assignment.timeout)

    async def close(self) -> None:
        self._threads.close()
        CAPTURE.close()

    async def _find(self, key: tuple[str, str | None]) -> Handler | Outcome:
        """Finds a function in a thread, because importing a module may take longer than a heartbeat may wait."""
        search = self._searches.get(key)
        if search is None:  # all attempts that wait for the same function share one search
            search = self._searches[key] = self._threads.call(lambda: _find(key))
            search.add_done_callback(lambda _: self._searches.pop(key, None))
        found = await asyncio.shield(search)
        if isinstance(found, NoHandler):
            raise NoHandler(*found.args)
        return found

    async def _in_loop(
        self, handler: Handler, args: list[Any], kwargs: dict[str, Any], seconds: float
    ) -> Outcome:
        deadline = self._deadlines.start(seconds)
        try:
            result = await handler.function(*args, **kwargs)
        except asyncio.CancelledError as error:
            if deadline.cancelled_by_others:
                raise
            return (
                timeout_failure(seconds) if deadline.expired else outcome_of(error)
            )  # or the function cancelled itself
        except BaseException as error:  # noqa: BLE001 - the boundary to the user's code: any exception ends its attempt
            return timeout_failure(seconds) if deadline.expired else outcome_of(error)
        finally:
            deadline.end()
        return timeout_failure(seconds) if deadline.expired else success_of(result)

    async def _in_thread(
        self, handler: Handler, args: list[Any], kwargs: dict[str, Any], seconds: float
    ) -> Outcome:
        future = self._threads.call(lambda: call_sync(handler, args, kwargs))
        try:
            # `wait` leaves the future alone when it times out or is cancelled: the thread cannot be stopped.
            done, _ = await asyncio.wait({future}, timeout=seconds)
        except asyncio.CancelledError:
            self._keep_slot(future)
            raise
        if done:
            return future.result()
        self._keep_slot(future)
        return timeout_failure(seconds)

    def _keep_slot(self, future: asyncio.Future[Outcome]) -> None:
        if future.done():
            return
        self._count_overdue(1)
        future.add_done_callback(lambda _: self._count_overdue(-1))

    def _count_overdue(self, more: int) -> None:
        self._overdue += more
        self._on_overdue(self._overdue)


def _find(key: tuple[str, str | None]) -> Handler | Outcome | NoHandler:
    try:
        return find_handler(*key)
    except NoHandler as none:
        return none
    except InvalidValue as error:
        return classified_failure("invalid", "invalid_parameters", str(error))
    except BaseException as error:  # noqa: BLE001 - a user's module may raise anything at all
        return outcome_of(error)
