"""Tests that an outage of the server does not count as silence of its workers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from support.hand import Hand
from support.worker_lives import arrive, fleet_events, health, live, take

Return = Callable[[Hand], Awaitable[Hand]]


async def another_server(hand: Hand) -> Hand:
    return await hand.restarted()


async def the_same_server(hand: Hand) -> Hand:
    """It was stopped, or cut off from its database, and goes on with what it has."""
    return hand


@pytest.fixture(params=[another_server, the_same_server], ids=lambda how: how.__name__)
def back(request) -> Return:
    return request.param


@pytest.mark.settings(worker_wait=60.0)
async def test_work_whose_worker_could_not_be_heard_is_not_given_up(hand, back):
    await arrive(hand, "w1")
    await hand.beat(worker="w1")
    id_ = await hand.submit()
    await hand.clock.advance(300)
    hand = await back(hand)
    await hand.look()
    await hand.look()
    assert (await hand.types(id_))[-1] == "step_enqueued"
    assert await health(hand, "w1") == ("healthy", None)
    await live(hand, 59)
    assert (await hand.types(id_))[-1] == "step_enqueued", "it may still come back"
    await live(hand, 11)
    assert (await hand.types(id_))[-1] == "step_retry", "it has not"


@pytest.mark.settings(worker_wait=60.0)
async def test_what_came_while_nobody_was_there_waits_for_those_who_return(hand):
    id_ = await hand.submit()
    await hand.clock.advance(300)
    hand = await hand.restarted()
    await live(hand, 20)
    assert (await hand.types(id_))[-1] == "step_enqueued"
    await arrive(hand, "w1")
    await live(hand, 60, "w1")
    assert len(await hand.lease("w1")) == 1


async def test_workers_are_sound_until_they_could_have_been_heard_again(hand, back):
    await arrive(hand, "w1", "w2")
    await hand.submit()
    await hand.clock.advance(60)
    hand = await back(hand)
    await hand.look()
    assert await health(hand, "w1") == ("healthy", None)
    assert len(await hand.lease("w1")) == 1
    await live(hand, 30, "w1")
    assert await health(hand, "w1") == ("healthy", None)
    assert await health(hand, "w2") == ("unhealthy", "heartbeat_age"), "this one is silent indeed"
    assert (await hand.engine.worker("w2")).heartbeat_age == 30


async def test_nobody_is_gone_who_could_not_be_heard(hand, back):
    await arrive(hand, "w1", "w2")
    await hand.clock.advance(300)
    hand = await back(hand)
    await hand.engine.sweep()
    assert [w.state for w in await hand.engine.workers()] == ["active", "active"]
    await live(hand, 30, "w1")
    await hand.engine.sweep()
    assert [w.name for w in await hand.engine.workers()] == ["w1"]
    assert await fleet_events(hand, "worker_lost", "w1") == []
    assert len(await fleet_events(hand, "worker_lost", "w2")) == 1


async def test_what_the_first_worker_back_refuses_waits_for_the_others(hand):
    await arrive(hand, "w1", "w2")
    id_ = await hand.submit()
    await hand.clock.advance(300)
    hand = await hand.restarted()
    await hand.beat(worker="w1")
    a = await take(hand, "w1")
    await hand.hand_back(a, reason="no_handler", detail="no")
    await hand.engine.sweep()
    assert await hand.status(id_) == "running"
    await live(hand, 30, "w1")
    await hand.engine.sweep()
    assert await hand.status(id_) == "failed", "the other has not come back"
