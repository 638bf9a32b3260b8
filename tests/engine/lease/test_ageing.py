"""Tests priorities, and the waiting time that raises them."""

from __future__ import annotations

import pytest
from support.hand import Hand
from support.strategies.scheduling import ask, look_anew, one_step, submit_many

URGENT = one_step("urgent", priority=9)
KINDS = {
    "unrestricted": one_step("low", priority=0),
    "limited": one_step("low", priority=0, concurrency=100),
    "fan-out": one_step("low", priority=0, for_each=list(range(20)), parallelism=20),
}


async def served_after(hand: Hand, low: int, *, most: float, **more: object) -> float | None:
    """Returns how long the low item waits while an urgent item comes every ten seconds and one slot is free."""
    waited = 0.0
    while waited <= most:
        await submit_many(hand, 1, URGENT)
        look_anew(hand)
        [leased] = await hand.engine.dispatcher.lease_now(ask(slots=1, **more))
        if leased.execution_id == low:
            return waited
        await hand.clock.advance(10)
        waited += 10
    return None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "waits",
    [
        pytest.param(waits, marks=pytest.mark.settings(ageing=ageing), id=f"{ageing}-{waits}")
        for ageing, waits in ((10.0, 100.0), (20.0, 190.0), (60.0, 550.0))
    ],
)
async def test_what_waits_rises_until_it_is_served(hand, kind, waits):
    """Nine levels up, and then it is the older one."""
    low = (await submit_many(hand, 1, KINDS[kind]))[0]
    assert await served_after(hand, low, most=1000) == waits


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.settings(ageing=0.0)
async def test_without_ageing_priorities_are_strict(hand, kind):
    low = (await submit_many(hand, 1, KINDS[kind]))[0]
    assert await served_after(hand, low, most=300) is None
    [leased] = await hand.lease(slots=1)
    assert leased.execution_id == low, "nothing urgent is left"


@pytest.mark.settings(ageing=10.0)
async def test_ageing_counts_between_queues_too(hand):
    low = (await submit_many(hand, 1, one_step("low", priority=0, queue="other")))[0]
    assert await served_after(hand, low, most=1000, queues=("default", "other")) == 100


@pytest.mark.settings(ageing=10.0)
async def test_a_retry_ages_from_when_it_is_due(hand):
    low = (await submit_many(hand, 1, one_step("low", priority=0)))[0]
    await hand.clock.advance(1000)
    [first] = await hand.lease(slots=1)
    await hand.fail(first)
    await hand.clock.advance(5)
    assert await served_after(hand, low, most=1000) == 100
