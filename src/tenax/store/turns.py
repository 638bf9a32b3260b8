"""Turns on the event loop: whoever goes through what others have sent gives it back every few milliseconds."""

from __future__ import annotations

import asyncio
from time import perf_counter

SLICE = 0.005
"""Seconds of work after which the loop is given back."""


async def give_way() -> None:
    """Gives the loop back to everybody else, for one round."""
    await asyncio.sleep(0)


class Turns:
    """Gives the loop back where this work has held it for a slice. For loops over what others have sent."""

    __slots__ = ("_until",)

    def __init__(self) -> None:
        self._until = perf_counter() + SLICE

    @property
    def over(self) -> bool:
        return perf_counter() > self._until

    async def give_way(self) -> None:
        await give_way()
        self._until = perf_counter() + SLICE
