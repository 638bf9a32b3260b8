"""The asyncio tasks that attempts run in.

Most attempts are over before they wait for anything, and a task of its own is the dearest part of such a one. So a
runner takes one attempt after the other from the queue. The first that waits has the runner to itself until it ends,
and another runner goes on with the queue: to cancel a task is to cancel one attempt.
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

from tenax.worker.attempt import Attempt

Work = Coroutine[Any, Any, None]

SLICE_SECONDS = 0.02
"""For so long attempts may begin within one turn of the event loop, however many are queued. What ends in one turn is reported
together: shorter slices would cut up the batches."""
MOST_AT_ONCE = 1000


class Runners:
    """Runs attempts in the order they come. `run` runs one, and tells what it came to by itself."""

    def __init__(self, run: Callable[[Attempt], Work]) -> None:
        self._run = run
        self._queue: deque[Attempt] = deque()
        self._coming = 0
        """Runners that are made and have not begun."""
        self._next = MOST_AT_ONCE
        """How many to make at once. All at first, since they wait for their function to be found; one, once an attempt did not
        wait; and twice as many each time, as long as all that begins has to wait."""
        self._turn_ends: float | None = None
        """When no more may begin in this turn of the loop; None where none has begun yet."""

    def add(self, attempts: Iterable[Attempt]) -> None:
        self._queue.extend(attempts)
        self._make_runners()

    def clear(self) -> None:
        """What has not begun never will."""
        self._queue.clear()

    def _make_runners(self) -> None:
        """Whoever runs now may have to wait: someone is to come for what is queued."""
        if self._coming or not self._queue:
            return
        self._coming = min(self._next, len(self._queue))
        self._next = min(2 * self._next, MOST_AT_ONCE)
        loop = asyncio.get_running_loop()
        for _ in range(self._coming):
            _Runner(self._take_turns(), loop=loop)

    async def _take_turns(self) -> None:
        self._coming -= 1
        runner = asyncio.current_task()
        assert isinstance(runner, _Runner)
        unmarked, turn_ends = runner.marks(), self._turn(runner.get_loop())
        while self._queue and time.monotonic() < turn_ends:
            attempt = self._queue.popleft()
            self._make_runners()
            work, context = self._run(attempt), copy_context()
            try:
                awaited = context.run(work.send, None)
            except StopIteration:
                self._next = 1
            else:
                attempt.task = runner
                await _finish(work, awaited, context)
                return
            if runner.marks() != unmarked:
                return

    def _turn(self, loop: asyncio.AbstractEventLoop) -> float:
        """When this turn of the loop ends for whatever has not begun."""
        if self._turn_ends is None:
            self._turn_ends = time.monotonic() + SLICE_SECONDS
            loop.call_soon(self._next_turn)
        return self._turn_ends

    def _next_turn(self) -> None:
        self._turn_ends = None
        self._make_runners()


class _Runner(asyncio.Task[None]):
    """A task that shows whether an attempt has left anything behind in it: the next one must not find it."""

    _changes = 0

    def marks(self) -> tuple[int, int, int]:
        """How often it was changed, and in how many hands it is: equal where no attempt did anything with it."""
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
    """The rest of a coroutine that has begun to wait, each step in its own context."""
    step = context.run
    while True:
        thrown: BaseException | None = None
        try:
            yield awaited
        except GeneratorExit:
            step(work.close)
            raise
        except BaseException as error:  # noqa: BLE001 - it is the coroutine's
            thrown = error
        try:
            # Outside of `except`: what the coroutine raises by itself has not come of what is thrown here.
            awaited = step(work.send, None) if thrown is None else step(work.throw, thrown)
        except StopIteration:
            return
