"""Tests when the timers ask again: as soon as something is due, and not sooner."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from support.fan_out_workflows import CALL, fan

from tenax.engine.recover import timers
from tenax.engine.recover.reap import Reaper
from tenax.engine.recover.timers import LONGEST, LONGEST_REST
from tenax.store.tables.due_items import next_wake

SOON = {"deadline": 'name: p\ndeadline: 1s\nworkflow: [{step: s, type: python, task: "t:t"}]\n',
        "queue_ttl": 'name: p\nworkflow: [{step: s, type: python, task: "t:t", queue_ttl: 1s}]\n',
        "wait": "name: p\nworkflow: [{step: s, type: wait, deadline: 1s}]\n",
        "sleep": "name: p\nworkflow: [{step: s, type: sleep, for: 1s}]\n"}  # fmt: skip


@pytest.mark.parametrize("source", SOON.values(), ids=SOON)
async def test_what_runs_out_soon_is_told_to_the_timers_and_seen_on_time(hand, source):
    told: list[float] = []
    notifier = hand.engine.context.notifier
    notifier.tell(replace(notifier.listeners, due=told.append))
    id_ = await hand.submit(source)
    await hand.settle_down()
    assert min(told) == 1.0
    assert await hand.engine.timers.tick() == 1.0
    await hand.clock.advance(1)
    await hand.engine.timers.tick()
    assert await hand.status(id_) != "running"


async def test_so_is_the_time_in_the_queue_of_a_step_that_comes_later(hand):
    steps = [{**CALL, "step": "first"}, {"step": "second", "needs": ["first"], "queue_ttl": "3s"}]
    _, first = await hand.start(fan([], *steps))
    told: list[float] = []
    notifier = hand.engine.context.notifier
    notifier.tell(replace(notifier.listeners, due=told.append))
    await hand.succeed(first)
    assert told == [3.0]


async def test_what_runs_out_later_than_the_next_look_is_not_looked_for(hand):
    """Else each look goes over all leases that have ended since the last vacuum: they would have run out sooner."""
    await hand.submit()
    await hand.lease_one()
    async with hand.engine.context.statements() as tx:
        soon, at_some_time = [await next_wake(tx, [], within) for within in (29.0, 31.0)]
    assert soon.expiry is None
    assert (at_some_time.expiry - at_some_time.now).total_seconds() == 30
    assert await hand.engine.timers.tick() == LONGEST
    await hand.pass_time(26)
    assert await hand.engine.timers.tick() == 4.0


@pytest.mark.parametrize(("price", "pause"), [(0.0, 0.001), (1e9, LONGEST_REST)])
async def test_where_much_falls_due_the_next_look_comes_after_a_rest(hand, monkeypatch, price, pause):
    monkeypatch.setattr(timers, "REST", price)
    await hand.submit()
    await hand.fail(await hand.lease_one())
    wait = await hand.engine.timers.tick()
    await hand.clock.advance(wait - 0.001)
    assert await hand.engine.timers.tick() == pytest.approx(pause)


async def test_what_has_run_out_keeps_no_retry_waiting(hand, monkeypatch):
    """It may be any number of items: the next look at what falls due does not wait for them."""
    await hand.start(SOON["deadline"])
    may_end = asyncio.Event()

    async def slow(_: Reaper) -> int:
        await may_end.wait()
        return 0

    monkeypatch.setattr(Reaper, "reap", slow)
    await hand.clock.advance(1)
    async with asyncio.timeout(20):
        assert await hand.engine.timers.look() == LONGEST
        await hand.submit()
        await hand.fail(await hand.lease_one())
        assert await hand.engine.timers.look() < LONGEST
    may_end.set()
    await hand.engine.timers.tick()
