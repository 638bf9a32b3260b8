"""Tests that a worker that hands the same work back again and again gets less and less of it, and other workers get it."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import structlog

from tenax.engine.fleet.worker_rests import FREE


async def test_in_the_end_it_rests_and_others_get_the_work(hand) -> None:
    execution_id = await hand.submit()
    with structlog.testing.capture_logs() as logs:
        for _ in range(FREE + 1):
            await hand.hand_back(await hand.lease_one("w1"))
        assert await hand.lease("w1") == []
    assert [log["worker"] for log in logs if "again and again" in log["event"]] == ["w1"]
    assert await hand.counts(execution_id, "lease_released") == (FREE + 1,)
    await hand.succeed(await hand.lease_one("w2"))
    assert await hand.status(execution_id) == "completed"


async def test_grants_that_never_arrive_count_too(hand) -> None:
    """An answer that the worker cannot read is one that never came: it names the grant as lost, and asks again."""
    execution_id = await hand.submit()
    asked = 0
    while asked < 50 and await hand.lease("w1"):
        asked += 1
        [row] = await hand.sql("select lease_grant::text as lease_grant from tenax.item")
        await hand.beat(worker="w1", lost_grants=(row["lease_grant"],))
    assert asked == FREE + 1
    assert await hand.counts(execution_id, "lease_released") == (FREE + 1,)


async def test_each_rest_is_longer_than_the_one_before(hand, monkeypatch) -> None:
    await hand.submit()
    loop, slept = asyncio.get_running_loop(), 0.0
    now = loop.time
    monkeypatch.setattr(loop, "time", lambda: now() + slept)
    leased_at = []
    for _ in range(FREE + 8):
        while not (found := await hand.lease("w1")):
            slept += 0.5
        leased_at.append(slept)
        await hand.hand_back(*found)
    pauses = [later - earlier for earlier, later in pairwise(leased_at)]
    assert pauses[:FREE] == [0] * FREE
    for pause, wanted in zip(pauses, [*[0] * FREE, 1, 2, 4, 8, 16, 32, 60], strict=True):
        assert wanted - 1 <= pause <= wanted, pauses


async def test_a_new_start_ends_the_rest(hand) -> None:
    first = await hand.submit()
    for _ in range(FREE + 1):
        await hand.hand_back(await hand.lease_one("w1"))
    assert await hand.lease("w1") == []
    await hand.register("w1")
    await hand.succeed(await hand.lease_one("w1"))
    assert await hand.status(first) == "completed"


async def test_different_items_are_no_sign_of_anything(hand) -> None:
    """A worker without a handler hands each item back once: that is how the work finds those who have one."""
    for name in ("w1", "w2"):
        await hand.register(name)
    for _ in range(5):
        await hand.submit()
    for _ in range(5):
        await hand.hand_back(await hand.lease_one("w1", slots=1), reason="no_handler")
    assert await hand.lease("w1") == []
    assert len(await hand.lease("w2")) == 5
