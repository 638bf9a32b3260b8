"""Tests the dispatcher: whom it serves after it had nothing, what it remembers of a lease, and how it is interrupted."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable

from support.hand import Hand
from support.recorded.report_paths import chain

from tenax.engine.lease.render_inputs import InputRenderer
from tenax.model.wire import Assignment, LeaseRequest

SUSPECT = '{"counted": 1, "exempted": 0, "by_class": {}, "by_rule": {}, "snoozes": 0, "elapsed": 1, "lost_by": ["w0"]}'


def ask(hand: Hand, wait: float = 20.0) -> asyncio.Task[list[Assignment]]:
    request = LeaseRequest("w1", str(uuid.uuid4()), 1, ("python",), wait=wait)
    return asyncio.create_task(hand.engine.dispatcher.lease(request))


async def test_one_that_asked_in_vain_is_served_when_what_kept_it_off_has_ended(hand):
    """No worker runs two suspects at once. The second is ready all the time: nobody will tell that it is."""
    await hand.register("w1")
    await hand.look()
    await hand.submit()
    await hand.submit()
    await hand.sql(f"update tenax.item set suspect = true, attempt = 1, ledger = '{SUSPECT}'")
    running = asyncio.create_task(hand.engine.dispatcher.run())
    [first] = await ask(hand)
    assert await ask(hand, wait=0.1) == []
    await hand.succeed(first, 1)
    [second] = await ask(hand)
    assert second.item_id != first.item_id
    running.cancel()


async def turns(until: Callable[[], bool]) -> None:
    """Waits until it holds, and for many turns of the loop after that."""
    async with asyncio.timeout(20):
        rest = 500
        while rest:
            await asyncio.sleep(0)
            rest = rest - 1 if until() else 500


NARROW = "name: narrow\nworkflow: [{step: a, type: python, task: 'm:f', queue: narrow}]\n"


async def test_a_worker_gets_nothing_of_a_queue_that_only_others_serve(hand):
    """The server remembers what it read for both workers together, and claims for one of them by that."""
    for name, queue in (("w1", "default"), ("w2", "narrow")):
        await hand.register(name, queues=(queue,))
    await hand.look()
    dispatcher = hand.engine.dispatcher
    await hand.submit(NARROW)
    asked = {
        name: asyncio.create_task(
            dispatcher.lease(
                LeaseRequest(name, str(uuid.uuid4()), 1, ("python",), queues=(queue,), wait=20.0)
            )
        )
        for name, queue in (("w1", "default"), ("w2", "narrow"))
    }
    await asyncio.sleep(0)  # both requests wait when the first claim is made
    running = asyncio.create_task(dispatcher.run())
    [first] = await asked["w2"]
    second = await hand.submit(NARROW)
    for _ in range(200):
        await asyncio.sleep(0)
    dispatcher.wake()
    await turns(lambda: not dispatcher._wake.is_set())  # a claim was made
    assert not asked["w1"].done()
    [row] = await hand.sql("select state, worker from tenax.item where execution_id = $1", second)
    assert tuple(row) == ("queued", None)
    await hand.succeed(first, 1)
    for task in (running, asked["w1"]):
        task.cancel()
    await asyncio.gather(running, asked["w1"], return_exceptions=True)


async def test_what_is_remembered_of_a_lease_is_small_and_ends_with_it(hand):
    fan = chain(1, 'for_each: "{{ input.rows }}"').replace(
        "workflow:", "input: {rows: {type: array}}\nworkflow:", 1
    )
    await hand.submit(fan, input={"rows": ["x" * 100_000] * 3})
    [a] = await hand.lease(slots=1)
    leased = hand.engine.context.lease_cache
    [known] = leased._by_token.values()
    assert (known.element, known.previous) == (None, None)
    await hand.hand_back(a)
    assert leased.take(a.token) is None


async def test_a_claim_that_is_cut_off_hands_back_what_it_had_leased(hand, monkeypatch):
    """The server stops between the lease and its answer: nobody is to blame, and nothing is counted."""
    await hand.register("w1")
    id_ = await hand.submit(chain(1))
    reached = asyncio.Event()

    async def stuck(*_: object) -> None:
        reached.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(InputRenderer, "prepare_shortly", stuck)
    running = asyncio.create_task(hand.engine.dispatcher.run())
    asked = ask(hand)
    await reached.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    monkeypatch.undo()
    asked.cancel()
    assert (await hand.types(id_))[-2:] == ["action_started", "lease_released"]
    [item] = await hand.sql("select state, ledger from tenax.item")
    assert (item["state"], item["ledger"]) == ("queued", None)
