"""Long work on the event loop, in slices: everybody else has a turn between two of them."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from time import perf_counter
from typing import TypeVar

SLICE = 0.01
"""Seconds of work after which the loop is given back."""

T = TypeVar("T")


class Turns:
    """Gives the loop back where this work has held it for a slice. For loops over what others have sent."""

    __slots__ = ("_until",)

    def __init__(self) -> None:
        self._until = perf_counter() + SLICE

    @property
    def over(self) -> bool:
        return perf_counter() > self._until

    async def give_way(self) -> None:
        await asyncio.sleep(0)
        self._until = perf_counter() + SLICE


async def in_slices(work: Generator[None, None, T]) -> T:
    """Runs a generator to its end, and returns what it returns. It yields wherever it can be interrupted."""
    turns = Turns()
    while True:
        try:
            next(work)
        except StopIteration as ended:
            result: T = ended.value
            return result
        if turns.over:
            await turns.give_way()
