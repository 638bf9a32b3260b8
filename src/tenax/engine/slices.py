"""Divides long work on the event loop into slices, between which other work runs."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

from tenax.store.time_slices import SLICE, Sliced, TimeSlice, give_way, urgent

__all__ = ["LARGE", "SLICE", "Sliced", "TimeSlice", "give_way_after", "in_slices", "urgent"]

LARGE = 1_000_000
"""Bytes of data that are large. To copy, search or encode them takes a good part of a time slice."""

T = TypeVar("T")


async def give_way_after(size: int) -> None:
    """Lets other work run if `size` is large. Call it between two passes over data of that size."""
    if size > LARGE:
        await give_way()


async def in_slices(work: Generator[None, None, T]) -> T:
    """Runs a generator to its end, and returns its result. The generator yields wherever it can be interrupted."""
    time_slice = TimeSlice()
    while True:
        try:
            next(work)
        except StopIteration as ended:
            result: T = ended.value
            return result
        if time_slice.is_over:
            await time_slice.give_way()
