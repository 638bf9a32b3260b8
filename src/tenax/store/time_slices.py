"""Divides long work on the event loop into time slices, so that other work can run every few milliseconds.

All long work of one loop waits in one line. Between two slices the loop makes several rounds for everything else. So short work is delayed
by one slice at most, however much long work there is.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")

FIRST_SLICE = 0.01
"""Seconds of the first slice of each work. A batch of 500 failures is decided on within it."""
SLICE = 0.005
"""Seconds of each further slice if no other long work waits."""
SHORT_SLICE = 0.002
"""Seconds of each slice, including the first one, if other long work waits."""
ROUNDS_BETWEEN = 8
"""Rounds of the loop between two slices. A due item needs about as many rounds from its due time to the statement that leases it."""
REST = 0.001
"""Seconds between two slices if several wait. The database's answers arrive in that time."""
LONGEST_WAIT = 0.005
"""Seconds for which urgent work may delay the next slice."""
LONGEST_DELAY = 0.05
"""Seconds that the oldest long work waits for its slice before urgent work delays it no more. Long work may hold locks."""


class _Line:
    """The long work of one event loop that waits for its next slice, the oldest first."""

    __slots__ = ("_is_moving", "_waiting", "urgent")

    def __init__(self) -> None:
        self._waiting: deque[tuple[asyncio.Future[None], float]] = deque()
        """The waiting work, each with the time since which it waits."""
        self._is_moving = False
        self.urgent = 0
        """The number of urgent calls under way, during which no slice should begin."""

    @property
    def first_slice(self) -> float:
        return SHORT_SLICE if self._is_moving else FIRST_SLICE

    @property
    def slice(self) -> float:
        return SHORT_SLICE if self._waiting else SLICE

    async def wait(self) -> None:
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        self._waiting.append((turn, perf_counter()))
        if not self._is_moving:
            self._is_moving = True
            loop.call_soon(self._go_round, ROUNDS_BETWEEN)
        await turn

    def _go_round(self, rounds: int, waited: float = 0.0) -> None:
        """Lets the loop make this many rounds, and then continues the first work in the line. Urgent work may delay that for a while."""
        loop = asyncio.get_running_loop()
        if rounds > 1:
            loop.call_soon(self._go_round, rounds - 1)
            return
        if self.urgent and waited < LONGEST_WAIT and not self._has_waited_long():
            loop.call_later(REST, self._go_round, 1, waited + REST)
            return
        while self._waiting:
            turn, _ = self._waiting.popleft()
            if not turn.done():  # otherwise the work was cancelled while it waited
                turn.set_result(None)
                break
        self._is_moving = bool(self._waiting)
        if self._is_moving:
            loop.call_later(REST, self._go_round, ROUNDS_BETWEEN)

    def _has_waited_long(self) -> bool:
        return bool(self._waiting) and perf_counter() - self._waiting[0][1] > LONGEST_DELAY


_lines: WeakKeyDictionary[asyncio.AbstractEventLoop, _Line] = WeakKeyDictionary()


def _line() -> _Line:
    loop = asyncio.get_running_loop()
    line = _lines.get(loop)
    if line is None:
        line = _lines[loop] = _Line()
    return line


async def give_way() -> None:
    """Lets all other work run, and waits for the next slice."""
    await _line().wait()


@contextmanager
def urgent() -> Iterator[None]:
    """Marks short work, such as a claim, as urgent: when the database answers it, the loop should not be in a
    slice."""
    line = _line()
    line.urgent += 1
    try:
        yield
    finally:
        line.urgent -= 1


class TimeSlice:
    """Measures the time slice of one piece of work. Use it in loops over data whose length others choose."""

    __slots__ = ("_until",)

    def __init__(self) -> None:
        self._until = perf_counter() + _line().first_slice

    @property
    def is_over(self) -> bool:
        return perf_counter() > self._until

    async def give_way(self) -> None:
        line = _line()
        await line.wait()
        self._until = perf_counter() + line.slice


class Sliced(Generic[T]):
    """Yields values, and lets other work run before a value whenever a time slice is over. It costs half a microsecond, and a tenth for each
    value: loops of the hot path use `TimeSlice` themselves."""

    __slots__ = ("_slice", "_values")

    def __init__(self, values: Iterable[T]) -> None:
        self._values = iter(values)
        self._slice = TimeSlice()

    def __aiter__(self) -> Sliced[T]:
        return self

    async def __anext__(self) -> T:
        for value in self._values:
            if self._slice.is_over:
                await self._slice.give_way()
            return value
        raise StopAsyncIteration
