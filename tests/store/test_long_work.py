"""Long work on the event loop waits in one line, and short work goes before it."""

from __future__ import annotations

import asyncio

import pytest

from tenax.store import time_slices
from tenax.store.time_slices import TimeSlice, urgent


async def slices(said: list[str], count: int = 2) -> None:
    own = TimeSlice()
    for _ in range(count):
        await own.give_way()
        said.append("slice")


async def test_urgent_work_that_waits_for_answers_goes_before_the_next_slice(monkeypatch):
    monkeypatch.setattr(time_slices, "LONGEST_WAIT", 60.0)
    said: list[str] = []
    with urgent():
        long = asyncio.create_task(slices(said))
        for _ in range(100):
            await asyncio.sleep(0)
        said.append("urgent")
    await long
    assert said == ["urgent", "slice", "slice"]


async def test_urgent_work_that_goes_on_holds_no_slice_back_for_long():
    said: list[str] = []
    with urgent():
        async with asyncio.timeout(20):
            await slices(said)
    assert said == ["slice", "slice"]


async def test_the_oldest_long_work_is_not_delayed_by_urgent_work_without_end(monkeypatch):
    """Each slice may be delayed for a minute here, so only the age of the work lets it go on."""
    monkeypatch.setattr(time_slices, "LONGEST_WAIT", 60.0)
    said: list[str] = []
    with urgent():
        async with asyncio.timeout(20):
            await slices(said)
    assert said == ["slice", "slice"]


async def test_a_first_slice_is_short_where_others_wait(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(time_slices, "perf_counter", lambda: 0.0)
    alone = TimeSlice()
    long = asyncio.create_task(slices([]))
    await asyncio.sleep(0)
    beside = TimeSlice()
    await long
    monkeypatch.setattr(time_slices, "perf_counter", lambda: time_slices.SHORT_SLICE * 1.5)
    assert (alone.is_over, beside.is_over) == (False, True)
