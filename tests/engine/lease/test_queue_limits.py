"""Tests concurrency and rates of queues: never exceeded, and with no room left unused."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from support.hand import Hand
from support.strategies.scheduling import (
    ask,
    claim_all,
    know_the_fleet,
    lease_all,
    one_step,
    servers,
    submit_many,
)

from tenax.engine.engine import Engine
from tenax.model.wire import Assignment, Submission
from tenax.settings import Settings
from tenax.store.connect import Database
from tenax.store.dispatch import claims


async def limit(hand: Hand, queue: str = "default", **limits: Any) -> None:
    await hand.engine.limit_queue(
        queue, **{"concurrency": None, "rate": None, "burst": None, **limits}, actor="me"
    )
    await know_the_fleet(hand)


async def test_so_many_of_a_queue_and_any_number_of_others(hand):
    await limit(hand, concurrency=3)
    await submit_many(hand, 10)
    await submit_many(hand, 10, one_step("other", queue="other"))
    first = await lease_all(hand, queues=("default", "other"))
    assert len(first) == 13
    mine = [a for a in first if a.workflow == "one"]
    assert len(mine) == 3
    for assignment in mine[:2]:
        await hand.succeed(assignment)
    assert len(await lease_all(hand, queues=("default", "other"))) == 2
    await limit(hand, concurrency=5)
    assert len(await lease_all(hand)) == 2
    await limit(hand, concurrency=2)
    await hand.succeed(mine[2])
    assert await lease_all(hand) == []
    await hand.engine.limit_queue("default", concurrency=None, rate=None, burst=None, actor="me")
    assert len(await lease_all(hand)) == 3, "all that is left, at once"


async def test_fan_outs_and_limited_steps_of_a_queue_count_alike(hand):
    await limit(hand, concurrency=9)
    await hand.submit(one_step("fan_out", for_each=list(range(50)), parallelism=50))
    await submit_many(hand, 20, one_step("gated", concurrency=2))
    await submit_many(hand, 2)
    leased = await lease_all(hand)
    assert Counter(a.workflow for a in leased) == {"fan_out": 5, "gated": 2, "one": 2}


async def test_a_queues_limit_is_exact_with_three_servers(hand):
    await limit(hand, concurrency=4)
    fleet = await servers(hand, 3)
    await submit_many(hand, 40)
    leased: list[Assignment] = []
    for _ in range(15):
        asking = [claim_all(one.engine, ask(f"w{n}", 5)) for n, one in enumerate(fleet)]
        leased += [a for [given] in await asyncio.gather(*asking) for a in given]
        assert 0 < len(leased) <= 4
        ending, leased = leased[:2], leased[2:]
        await asyncio.gather(*(fleet[n].succeed(a) for n, a in enumerate(ending)))
    for one in fleet:
        leased += await lease_all(one)
    assert len(leased) == 4


async def test_who_waits_hears_of_room_in_a_queue(hand):
    """The worker that made the room asks for nothing; another one has waited for it."""
    await limit(hand, concurrency=1)
    await submit_many(hand, 2)
    [held] = await lease_all(hand)
    loop = asyncio.create_task(hand.engine.dispatcher.run())
    parked = asyncio.create_task(hand.engine.lease(ask("w2", 1, wait=60)))
    await asyncio.wait([parked], timeout=0.2)
    assert not parked.done()
    async with asyncio.timeout(10):
        await hand.succeed(held)
        assert len(await parked) == 1
    loop.cancel()


@pytest.mark.parametrize(("rate", "burst"), [(2.0, 5), (0.5, 1), (12.0, 12)])
async def test_a_rate_is_a_bucket_of_tokens(hand, rate, burst):
    """In any time t at most burst + rate * t start; and never fewer than there are tokens for."""
    await limit(hand, rate=rate, burst=burst)
    await submit_many(hand, 400)
    roll = random.Random(1)
    starts: list[tuple[float, int]] = []
    at, tokens = 0.0, float(burst)
    for _ in range(25):
        starts.append((at, len(await lease_all(hand))))
        assert starts[-1][1] == int(tokens)
        step = roll.choice([0, 0.125, 0.25, 1, 1, 3])
        await hand.clock.advance(step)
        at, tokens = at + step, min(burst, tokens - int(tokens) + rate * step)
    for n, (begin, _) in enumerate(starts):
        for m in range(n, len(starts)):
            end, started = starts[m][0], sum(count for _, count in starts[n : m + 1])
            assert started <= burst + rate * (end - begin)


async def test_a_queue_that_was_idle_for_long_starts_no_more_than_its_burst(hand):
    await limit(hand, rate=1.0, burst=3)
    await hand.clock.advance(1000)
    await submit_many(hand, 20)
    await submit_many(hand, 5, one_step("other", queue="other"))
    leased = await lease_all(hand, queues=("default", "other"))
    assert Counter(a.workflow for a in leased) == {"one": 3, "other": 5}
    await limit(hand)
    assert len(await lease_all(hand)) == 17


async def test_a_rate_and_a_concurrency_hold_together(hand):
    await limit(hand, rate=1.0, burst=10, concurrency=4)
    await submit_many(hand, 20)
    leased = await lease_all(hand)
    assert len(leased) == 4
    for assignment in leased:
        await hand.succeed(assignment)
    leased = await lease_all(hand)
    for assignment in leased:
        await hand.succeed(assignment)
    assert len(await lease_all(hand)) == 2, "of ten tokens eight were spent"


async def test_a_rate_is_exact_with_three_servers(hand):
    await limit(hand, rate=2.0, burst=6)
    fleet = await servers(hand, 3)
    await submit_many(hand, 100)
    counts = []
    for seconds in (0, 1, 1, 2, 10):
        await hand.clock.advance(seconds)
        asking = [claim_all(one.engine, ask(f"w{n}", 20)) for n, one in enumerate(fleet)]
        counts.append(sum(len(given) for [given] in await asyncio.gather(*asking)))
    assert counts == [6, 2, 2, 4, 6]


async def test_time_spent_on_a_claim_is_not_taken_from_the_rate(hand):
    await limit(hand, rate=1.0, burst=5)
    context = hand.engine.context
    async with context.transaction() as tx:
        before = (await claims.lock_queue_limits(tx, ["default"]))["default"]
        await hand.clock.advance(2)
        await claims.spend_tokens(tx, [replace(before, tokens=1.0)])
    async with context.transaction() as tx:
        assert (await claims.lock_queue_limits(tx, ["default"]))["default"].tokens == 3.0


async def test_the_dispatcher_wakes_by_itself_when_the_next_may_start(any_database_url, tmp_path):
    settings = Settings(home=tmp_path, database_url=any_database_url)
    async with Database.open(settings) as database:
        engine = Engine(database, settings)
        await engine.prepare()
        await engine.limit_queue("default", concurrency=None, rate=20.0, burst=1, actor="me")
        await engine.dispatcher.fleet.catch_up()
        await engine.submit([Submission(source=one_step())] * 11)
        loop = asyncio.create_task(engine.dispatcher.run())
        began = asyncio.get_running_loop().time()
        async with asyncio.timeout(20):
            parked = [engine.lease(ask(f"w{n}", 1, wait=30)) for n in range(11)]
            assert [len(given) for given in await asyncio.gather(*parked)] == [1] * 11
        took = asyncio.get_running_loop().time() - began
        assert took >= 0.45, "ten more at twenty in a second"
        loop.cancel()
