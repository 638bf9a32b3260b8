"""Tests leases of items with large inputs: the bytes in an answer are limited, and no other request waits for them."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

import pytest
from support.hand import Hand

from tenax.engine.lease import dispatcher as dispatching
from tenax.engine.lease import large_inputs, render_inputs
from tenax.engine.lease.full_claim import Claimed, FullClaim
from tenax.engine.lease.render_inputs import InputRenderer
from tenax.errors import Unreachable
from tenax.model.wire import LeaseRequest, Submission

READS_INPUT = """
name: reads
input: {x: {}}
workflow: [{step: a, type: python, task: 'm:f', args: {x: "{{ input.x }}"}}]
"""
PLAIN = "name: plain\nworkflow: [{step: a, type: python, task: 'm:f', queue: other}]\n"
LARGE = "x" * 50_000


@pytest.fixture(autouse=True)
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_inputs, "MAX_ANSWER", 100_000)
    monkeypatch.setattr(render_inputs, "SHORT_VALUE", 10_000)


async def submitted(hand: Hand, count: int) -> set[int]:
    made = await hand.engine.submit([Submission(source=READS_INPUT, input={"x": LARGE})] * count)
    return {one.id for one in made}


async def finish(hand: Hand) -> None:
    await hand.engine.dispatcher.finish_answers()


async def test_an_answer_has_as_many_items_as_it_has_room_for_and_the_others_are_released(hand):
    ids = await submitted(hand, 10)
    leased = await hand.lease(slots=10)
    await finish(hand)
    assert 0 < len(leased) < 5
    assert [one.spec["args"]["x"] for one in leased] == [LARGE] * len(leased)
    rows = await hand.sql("select state, ledger from tenax.item where state <> 'leased'")
    assert [tuple(row) for row in rows] == [("queued", None)] * (10 - len(leased))
    found = {one.execution_id for one in leased}
    while more := await hand.lease(slots=10):
        await finish(hand)
        found |= {one.execution_id for one in more}
    assert found == ids


async def test_the_next_claim_leases_no_more_than_lately_had_room(hand):
    ids = await submitted(hand, 10)
    first = await hand.lease(slots=10)
    await finish(hand)
    await hand.lease(slots=10)
    await finish(hand)
    events = [kind for id_ in ids for kind in await hand.types(id_)]
    assert events.count("action_started") == 10 + len(first)


async def test_small_inputs_of_the_same_claim_do_not_wait_for_large_ones(hand, monkeypatch):
    """The large ones cannot be read meanwhile."""
    [small] = await hand.engine.submit([Submission(source=READS_INPUT, input={"x": "small"})])
    await submitted(hand, 2)
    prepare, may_read = InputRenderer.prepare, asyncio.Event()

    async def late(*arguments: object) -> InputRenderer:
        await may_read.wait()
        return await prepare(*arguments)

    monkeypatch.setattr(InputRenderer, "prepare", late)
    dispatcher = hand.engine.dispatcher
    asked = [asyncio.create_task(hand.lease(f"w{n}", slots=1)) for n in range(3)]
    done, waiting = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
    [[assignment]] = [task.result() for task in done]
    assert assignment.execution_id == small.id
    assert len(waiting) == 2
    may_read.set()
    assert [len(await task) for task in waiting] == [1, 1]
    await dispatcher.finish_answers()


async def test_the_worker_of_one_execution_keeps_no_other_worker_waiting(hand, monkeypatch):
    own = await hand.submit(READS_INPUT, input={"x": 1})
    other = await hand.submit(PLAIN)
    take_own, may_claim = FullClaim.take_own, asyncio.Event()

    async def late(*arguments: Any) -> Claimed:
        await may_claim.wait()
        return await take_own(*arguments)

    monkeypatch.setattr(FullClaim, "take_own", late)
    asked = asyncio.create_task(hand.lease("own", slots=1, execution_id=own))
    async with asyncio.timeout(20):
        [assignment] = await hand.lease("w2", queues=("other",))
    assert assignment.execution_id == other
    assert not asked.done()
    may_claim.set()
    assert [one.execution_id for one in await asked] == [own]


async def test_news_that_come_while_the_claim_of_one_execution_goes_on_are_not_missed(hand, monkeypatch):
    """The claim has looked already, and found nothing."""
    own = await hand.submit(READS_INPUT, input={"x": 1})
    take_own, has_looked, may_end = FullClaim.take_own, asyncio.Event(), asyncio.Event()

    async def slow(*_: Any) -> Claimed:
        has_looked.set()
        await may_end.wait()
        return Claimed()

    monkeypatch.setattr(FullClaim, "take_own", slow)
    dispatcher = hand.engine.dispatcher
    running = asyncio.create_task(dispatcher.run())
    request = LeaseRequest("own", str(uuid4()), 1, ("python",), wait=30.0, execution_id=own)
    asked = asyncio.create_task(dispatcher.lease(request))
    await has_looked.wait()
    monkeypatch.setattr(FullClaim, "take_own", take_own)
    dispatcher.wake()
    for _ in range(20):  # it looks, and finds no request of the fleet
        await asyncio.sleep(0)
    assert not dispatcher._wake.is_set()
    may_end.set()
    async with asyncio.timeout(20):
        assert [one.execution_id for one in await asked] == [own]
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def at_rest(dispatcher: dispatching.Dispatcher) -> None:
    """Waits until no claim is under way or wanted, for many turns of the loop."""
    turns = 0
    async with asyncio.timeout(10):
        while turns < 200:
            await asyncio.sleep(0)
            busy = dispatcher._wake.is_set() or dispatcher._background.tasks
            turns = 0 if busy else turns + 1


async def test_claims_of_single_executions_do_not_keep_each_other_awake(hand):
    """Nothing is ready for any of the five workers. Each piece of news makes them look once more, and then all rest."""
    ids = [await hand.submit(READS_INPUT, input={"x": 1}) for _ in range(5)]
    for id_ in ids:
        [_] = await hand.lease(f"own-{id_}", slots=1, execution_id=id_)
    dispatcher = hand.engine.dispatcher
    running = asyncio.create_task(dispatcher.run())
    requests = [
        LeaseRequest(f"own-{id_}", str(uuid4()), 1, ("python",), wait=60.0, execution_id=id_) for id_ in ids
    ]
    asked = [asyncio.create_task(dispatcher.lease(request)) for request in requests]
    await at_rest(dispatcher)
    for n in range(1, 30):  # news at many moments of the claims that they cause
        dispatcher.wake()
        for _ in range(5 * n):
            await asyncio.sleep(0)
    await at_rest(dispatcher)
    assert not any(task.done() for task in asked)
    for task in (running, *asked):
        task.cancel()
    await asyncio.gather(running, *asked, return_exceptions=True)


async def test_items_without_room_that_cannot_be_released_go_back_with_the_whole_answer(hand, monkeypatch):
    await submitted(hand, 10)
    dispatcher = hand.engine.dispatcher

    async def away(_: Any) -> None:
        raise Unreachable("the database is away")

    monkeypatch.setattr(dispatcher, "_release", away)
    assert await hand.lease(slots=10) == []
    await finish(hand)
    await dispatcher._release_uncertain()
    rows = await hand.sql("select state, ledger from tenax.item")
    assert [tuple(row) for row in rows] == [("queued", None)] * 10


async def test_an_answer_whose_leases_are_old_is_not_sent(hand, monkeypatch):
    """No heartbeat extends the leases of items that wait to be rendered."""
    monkeypatch.setattr(dispatching, "AGE_OF_LEASES", 0.0)
    await submitted(hand, 2)
    assert await hand.lease(slots=2) == []
    await finish(hand)
    await hand.engine.dispatcher._release_uncertain()
    rows = await hand.sql("select state from tenax.item")
    assert [row["state"] for row in rows] == ["queued", "queued"]
