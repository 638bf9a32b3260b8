"""Tests that new work and due retries take turns, and that no slot stays empty for it."""

from __future__ import annotations

import pytest
from support.hand import Hand
from support.recorded.report_paths import chain

RETRIED = chain(1, "retry: {max_attempts: 5, initial_delay: 1s, jitter: 0}")


async def make_ready(hand: Hand, *, new: int, retries: int, newer: str) -> None:
    async def retry() -> None:
        for _ in range(retries):
            await hand.submit(RETRIED)
        for a in await hand.lease(slots=100):
            await hand.fail(a)

    async def submit() -> None:
        for _ in range(new):
            await hand.submit(chain(1))

    if newer == "new":
        await retry()
        await hand.clock.advance(30)
        await submit()
    else:
        await retry()
        await submit()
        await hand.clock.advance(0.5)
    await hand.clock.advance(1)


async def attempts(hand: Hand, slots: int) -> list[int]:
    return sorted(a.attempt for a in await hand.lease(slots=slots))


@pytest.mark.parametrize("newer", ["new", "retries"])
@pytest.mark.parametrize(
    ("new", "retries", "slots"), [(6, 1, 6), (1, 6, 6), (6, 0, 6), (0, 6, 6), (3, 3, 6), (5, 2, 7), (1, 1, 2)]
)
async def test_every_slot_is_used_while_there_is_something_for_it(hand, new, retries, slots, newer):
    await make_ready(hand, new=new, retries=retries, newer=newer)
    assert len(await attempts(hand, slots)) == slots
    assert len(await attempts(hand, 100)) == new + retries - slots


@pytest.mark.parametrize("newer", ["new", "retries"])
async def test_neither_waits_for_all_of_the_other(hand, newer):
    await make_ready(hand, new=20, retries=20, newer=newer)
    assert await attempts(hand, 10) == [1] * 5 + [2] * 5
