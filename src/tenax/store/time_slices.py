"""Turns on the event loop: whoever goes through what others have sent gives it back every few milliseconds.

All such work of a loop stands in one line. Between two slices of it, whoever they belong to, the loop goes round several times for
everybody else. So short work is held up by one slice at most, however much long work there is.
"""

from __future__ import annotations

import asyncio
from collections import deque
from time import perf_counter
from weakref import WeakKeyDictionary

FIRST_SLICE = 0.01
"""Seconds of work after which the loop is given back for the first time. A batch of 500 failures is decided on within it."""
SLICE = 0.005
"""Seconds of each further slice, where no other long work waits for its turn."""
SHORT_SLICE = 0.002
"""The same, where other long work waits."""
ROUNDS_BETWEEN = 8
"""Rounds of the loop between two slices: about as many as it takes from a due time to the statement that leases what is due."""
REST = 0.001
"""Seconds between two slices where several wait: answers of the database arrive meanwhile."""


class _Line:
    """The long work of one event loop that waits for its turn, the oldest first."""

    __slots__ = ("_is_moving", "_waiting")

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_moving = False

    @property
    def slice(self) -> float:
        return SHORT_SLICE if self._waiting else SLICE

    async def wait(self) -> None:
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        self._waiting.append(turn)
        if not self._is_moving:
            self._is_moving = True
            loop.call_soon(self._go_round, ROUNDS_BETWEEN)
        await turn

    def _go_round(self, rounds: int) -> None:
        """Lets the loop go round so many times, and then the next one in the line go on."""
        loop = asyncio.get_running_loop()
        if rounds > 1:
            loop.call_soon(self._go_round, rounds - 1)
            return
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():  # else it was cancelled meanwhile
                turn.set_result(None)
                break
        self._is_moving = bool(self._waiting)
        if self._is_moving:
            loop.call_later(REST, self._go_round, ROUNDS_BETWEEN)


_lines: WeakKeyDictionary[asyncio.AbstractEventLoop, _Line] = WeakKeyDictionary()


def _line() -> _Line:
    loop = asyncio.get_running_loop()
    line = _lines.get(loop)
    if line is None:
        line = _lines[loop] = _Line()
    return line


async def give_way() -> None:
    """Gives the loop back to everybody else, and waits for the next turn."""
    await _line().wait()


class TimeSlice:
    """Gives the loop back where this work has held it for a slice. For loops over what others have sent."""

    __slots__ = ("_until",)

    def __init__(self) -> None:
        self._until = perf_counter() + FIRST_SLICE

    @property
    def is_over(self) -> bool:
        return perf_counter() > self._until

    async def give_way(self) -> None:
        line = _line()
        await line.wait()
        self._until = perf_counter() + line.slice
