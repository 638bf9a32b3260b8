"""Runs attempts in asyncio tasks, with as few tasks as possible.

Most attempts end before they wait for anything, and a task of its own would be the most expensive part of such an attempt.
So a task takes one attempt after the other from the queue. The first attempt that waits keeps the task until it ends, and
another task goes on with the queue. A task therefore never holds two attempts, and cancelling it cancels one attempt.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterable
from contextvars import Context, copy_context
from sys import getrefcount
from types import coroutine
from typing import Any
from weakref import getweakrefcount

from tenax.worker.attempt import RunningAttempt

Work = Coroutine[Any, Any, None]

SLICE_SECONDS = 0.02
"""Seconds for which attempts may begin within one turn of the event loop, however many are queued. Attempts that end in one turn
are reported together, so shorter slices would make smaller batches."""
MAX_NEW_TASKS = 1000  # tasks made at once


class TaskPool:
    """Runs attempts in the order of their arrival. `run` runs one attempt and reports its outcome itself."""

    def __init__(self, run: Callable[[RunningAttempt], Work]) -> None:
        self._run = run
        self._queue: deque[RunningAttempt] = deque()
        self._unbegun = 0
        """The number of tasks that were made and have not begun."""
        self._batch_size = MAX_NEW_TASKS
        """The number of tasks to make at once. It starts high, since the first attempts wait until their function is found. It falls to
        one when an attempt ends without waiting, and doubles as long as every attempt waits."""
        self._turn_ends: float | None = None
        """The time after which no attempt may begin in this turn of the loop. None if none has begun in it yet."""

    def add(self, attempts: Iterable[RunningAttempt]) -> None:
        self._queue.extend(attempts)
        self._make_tasks()

    def clear(self) -> None:
        """Drops the attempts that have not begun."""
        self._queue.clear()

    def _make_tasks(self) -> None:
        """Makes tasks for the queued attempts, because the attempt that runs now may have to wait."""
        if self._unbegun or not self._queue:
            return
        self._unbegun = min(self._batch_size, len(self._queue))
        self._batch_size = min(2 * self._batch_size, MAX_NEW_TASKS)
        loop = asyncio.get_running_loop()
        for _ in range(self._unbegun):
            _PooledTask(self._take_turns(), loop=loop)

    async def _take_turns(self) -> None:
        self._unbegun -= 1
        runner = asyncio.current_task()
        assert isinstance(runner, _PooledTask)
        unmarked, turn_ends = runner.usage_marks(), self._turn(runner.get_loop())
        while self._queue and time.monotonic() < turn_ends:
            attempt = self._queue.popleft()
            self._make_tasks()
            work, context = self._run(attempt), copy_context()
            try:
                awaited = context.run(work.send, None)
            except StopIteration:
                self._batch_size = 1
            else:
                attempt.task = runner
                await _finish(work, awaited, context)
                return
            if runner.usage_marks() != unmarked:
                return

    def _turn(self, loop: asyncio.AbstractEventLoop) -> float:
        """Returns the time after which no attempt may begin in this turn of the loop."""
        if self._turn_ends is None:
            self._turn_ends = time.monotonic() + SLICE_SECONDS
            loop.call_soon(self._next_turn)
        return self._turn_ends

    def _next_turn(self) -> None:
        self._turn_ends = None
        self._make_tasks()


class _PooledTask(asyncio.Task[None]):
    """A task that shows whether an attempt has changed it: the next attempt needs an unchanged one."""

    _changes = 0

    def usage_marks(self) -> tuple[int, int, int]:
        """Returns the number of changes and of references to the task. They stay equal if no attempt used the task."""
        return self._changes, getrefcount(self), getweakrefcount(self)

    def cancel(self, msg: Any | None = None) -> bool:
        self._note_change()
        return super().cancel(msg)

    def add_done_callback(self, *args: Any, **options: Any) -> None:
        self._note_change()
        super().add_done_callback(*args, **options)

    def set_name(self, value: object) -> None:
        self._note_change()
        super().set_name(value)

    def __setattr__(self, name: str, value: Any) -> None:
        self._note_change()
        super().__setattr__(name, value)

    def _note_change(self) -> None:
        super().__setattr__("_changes", self._changes + 1)


@coroutine
def _finish(work: Work, awaited: Any, context: Context) -> Generator[Any, None, None]:
    """Runs the rest of a coroutine that has begun to wait, each step in the coroutine's own context."""
    step = context.run
    while True:
        thrown: BaseException | None = None
        try:
            yield awaited
        except GeneratorExit:
            step(work.close)
            raise
        except BaseException as error:  # noqa: BLE001 - every exception is passed on to the coroutine
            thrown = error
        try:
            # Outside of `except`, so that an error of the coroutine itself does not get the thrown one as its context.
            awaited = step(work.send, None) if thrown is None else step(work.throw, thrown)
        except StopIteration:
            return
