"""Long work on the event loop, in slices: everybody else has a turn between two of them."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

from tenax.store.time_slices import SLICE, TimeSlice, give_way

__all__ = ["LARGE", "SLICE", "TimeSlice", "give_way_after", "in_slices"]

LARGE = 1_000_000
"""Bytes whose handling (to copy, search or encode them once) takes a good part of a slice."""

T = TypeVar("T")


async def give_way_after(size: int) -> None:
    """Gives the loop back between two passes over so many bytes, if these are many."""
    if size > LARGE:
        await give_way()


async def in_slices(work: Generator[None, None, T]) -> T:
    """Runs a generator to its end, and returns what it returns. It yields wherever it can be interrupted."""
    time_slice = TimeSlice()
    while True:
        try:
            next(work)
        except StopIteration as ended:
            result: T = ended.value
            return result
        if time_slice.is_over:
            await time_slice.give_way()
