"""Tests readings that are kept: no request waits for a slow one, and all share one."""

from __future__ import annotations

import asyncio

import pytest

from tenax.errors import Unreachable
from tenax.ui.live import kept
from tenax.ui.live.kept import KeptReadings


@pytest.fixture(autouse=True)
def _always_old(monkeypatch):
    """Lets every reading be old at once."""
    monkeypatch.setattr(kept, "LEAST_AGE", 0.0)
    monkeypatch.setattr(kept, "PAUSE_FOR_COST", 0)


class Reader:
    """Reads when the test says so."""

    def __init__(self) -> None:
        self.reads = 0
        self.go = asyncio.Event()
        self.error: Exception | None = None

    async def __call__(self) -> int:
        self.reads += 1
        mine = self.reads
        await self.go.wait()
        if self.error is not None:
            raise self.error
        return mine


async def done(readings: KeptReadings, reader: Reader) -> None:
    """Lets a reading end."""
    async with readings.changes() as changed:
        reader.go.set()
        await changed.wait()
    reader.go.clear()


async def test_a_slow_first_reading_is_not_waited_for_and_is_shared():
    readings, reader = KeptReadings(), Reader()
    assert await asyncio.gather(*[readings.newest("a", reader) for _ in range(20)]) == [None] * 20
    assert reader.reads == 1
    await done(readings, reader)
    found = await readings.newest("a", reader)
    assert found is not None
    assert found.value == 1


async def test_an_old_reading_is_given_while_it_is_read_again():
    readings, reader = KeptReadings(), Reader()
    await readings.newest("a", reader)
    await done(readings, reader)
    old = await readings.newest("a", reader)
    same = await readings.newest("a", reader)
    assert old is same
    await done(readings, reader)
    assert reader.reads == 2
    new = await readings.newest("a", reader)
    assert new is not None
    assert old is not None
    assert (new.value, new.at > old.at) == (2, True)


async def test_a_failed_reading_is_told_and_tried_again():
    readings, reader = KeptReadings(), Reader()
    reader.error = Unreachable("the database is away")
    await readings.newest("a", reader)
    await done(readings, reader)
    with pytest.raises(Unreachable):
        await readings.newest("a", reader)
    reader.error = None
    await done(readings, reader)
    found = await readings.newest("a", reader)
    assert found is not None


async def test_a_fault_of_a_reading_is_told_as_an_error():
    readings, reader = KeptReadings(), Reader()
    reader.error = ValueError("x")
    await readings.newest("a", reader)
    await done(readings, reader)
    with pytest.raises(kept.TenaxError, match="its log says why"):
        await readings.newest("a", reader)


async def test_only_so_many_kinds_are_kept():
    readings, reader = KeptReadings(), Reader()
    reader.go.set()
    for n in range(kept.MOST_KEPT + 5):
        await readings.newest(n, reader)
    assert len(readings._kept) == kept.MOST_KEPT
