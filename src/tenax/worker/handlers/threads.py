"""Runs sync functions in daemon threads.

Threads of `concurrent.futures` are not daemons, so a function that hangs would keep the worker from ending.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextvars import copy_context
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")
_Job = tuple[asyncio.Future[Any], Callable[[], Any]]


class ThreadPool:
    """Keeps as many threads as were ever busy at once."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads = 0
        self._busy = 0

    def call(self, function: Callable[[], T]) -> asyncio.Future[T]:
        """Runs a function in a thread, in the caller's context. The future is done when the thread is done, even if cancelled."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        future.add_done_callback(self._freed)
        self._busy += 1
        if self._busy > self._threads:
            self._threads += 1
            threading.Thread(target=self._work, name=f"tenax-task-{self._threads}", daemon=True).start()
        context = copy_context()
        self._jobs.put((future, lambda: context.run(function)))
        return future

    def close(self) -> None:
        """Ends the idle threads at once, and each busy thread when its function ends."""
        for _ in range(self._threads):
            self._jobs.put(None)
        self._threads = 0

    def _freed(self, _future: asyncio.Future[Any]) -> None:
        self._busy -= 1

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            future, function = job
            try:
                settle, value = future.set_result, function()
            except BaseException as error:  # noqa: BLE001 - every exception of a user's function goes to its future
                settle, value = future.set_exception, _throwable(error)
            _hand_over(future, settle, value)


def _throwable(error: BaseException) -> BaseException:
    """Wraps errors that a future cannot hold: it refuses StopIteration, and SystemExit and KeyboardInterrupt would end the loop."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    wrapped = RuntimeError(f"{type(error).__name__}: {error}")
    wrapped.__cause__ = error
    return wrapped


def _hand_over(future: asyncio.Future[Any], settle: Callable[[Any], object], value: Any) -> None:
    def finish() -> None:
        if not future.done():
            settle(value)

    try:
        future.get_loop().call_soon_threadsafe(finish)
    except RuntimeError:  # the loop is closed, so nothing waits for the result
        return
