"""Tests fan-outs whose workers vanish or hand back, and which people cancel, pause and retry, and deadlines."""

from __future__ import annotations

import asyncio

from support.fan_out_workflows import RETRY, by_item, counts, each_of, fan, numbers, placed, told_of

from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.wire import Report


async def test_a_lost_worker_costs_only_its_items_an_attempt(hand):
    id_ = await hand.submit(fan([0, 1, 2, 3], parallelism=3, retry=RETRY))
    lost = by_item(await hand.lease("gone", slots=2))
    [kept] = await hand.lease("alive", slots=1)
    for _ in range(4):
        await hand.pass_time(10)
        await hand.beat(kept, worker="alive")
    await hand.settle_down()
    types = [(e["type"], e["item"]) for e in await hand.events(id_)]
    assert [item for kind, item in types if kind == "lease_expired"] == [0, 1]
    [fresh] = await hand.lease("alive")
    assert fresh.item == 3, "the retries are not due, and have left their places"
    assert (await hand.succeed(lost[0])).status == "late"
    await hand.clock.advance(1)
    await hand.settle_down()
    assert numbers(await hand.lease("alive")) == [0], "three places: two are taken"
    await hand.succeed(kept)
    again = await hand.lease("alive")
    assert [(a.item, a.attempt) for a in again] == [(1, 2)]


async def test_cancel_ends_every_item(hand):
    id_ = await hand.submit(fan(list(range(6)), parallelism=3, retry=RETRY))
    leased = by_item(await hand.lease(slots=2))
    await hand.fail(leased[0])
    await hand.engine.cancel(id_, actor="ann")
    assert await counts(hand, id_) == {"total": 6, "cancelled": 6}
    assert (await each_of(hand, id_))["status"] == "cancelled"
    assert (await hand.succeed(leased[1])).status == "late"
    await hand.clock.advance(5)
    await hand.settle_down()
    assert await hand.lease() == []
    assert await hand.sql("select from tenax.item") == []


async def test_nothing_is_leased_while_paused_and_places_are_right_afterwards(hand):
    id_ = await hand.submit(fan(list(range(7)), parallelism=2, retry=RETRY))
    leased = by_item(await hand.lease())
    assert await hand.engine.pause(id_, actor="ann")
    await hand.succeed(leased[0])
    assert (await hand.fail(leased[1])).verdict == "retry", "decisions are made"
    await hand.clock.advance(1)
    await hand.settle_down()
    assert await hand.lease() == []
    assert await hand.engine.recover() == []
    assert await hand.engine.resume(id_, actor="ann")
    held = await hand.lease()
    assert len(held) == 2
    assert await placed(hand) == (2, 2)
    while held:
        await hand.succeed(held.pop(), "ok")
        held += await hand.lease()
        assert len(held) <= 2
    assert await hand.status(id_) == "completed"


async def test_a_fan_out_that_starts_while_paused_waits_for_the_end_of_the_pause(hand):
    source = fan([0, 1, 2], {"step": "first"}, needs=["first"], parallelism=2, queue_ttl="10s")
    id_, first = await hand.start(source)
    await hand.engine.pause(id_, actor="ann")
    await hand.succeed(first)
    assert await hand.lease() == []
    await hand.wait(60)
    assert "queue_expired" not in await hand.types(id_), "the time in the queue does not run"
    await hand.engine.resume(id_, actor="ann")
    assert numbers(await hand.lease()) == [0, 1]


async def test_a_deadline_cancels_what_waits_and_lets_finish_what_runs(hand):
    id_ = await hand.submit(fan([0, 1, 2], parallelism=2, top={"deadline": "1h"}))
    leased = by_item(await hand.lease(slots=1))
    await hand.clock.advance(3600)
    await hand.engine.beat()
    await hand.engine.reap()
    execution = await hand.get(id_)
    assert (execution["status"], execution["failure"]["reason"]) == ("failed", "execution_deadline")
    assert await counts(hand, id_) == {"total": 3, "running": 1, "cancelled": 2}
    assert (await hand.succeed(leased[0])).verdict == "stop"
    assert await counts(hand, id_) == {"total": 3, "succeeded": 1, "cancelled": 2}
    assert (await each_of(hand, id_))["status"] == "cancelled"


async def test_retry_now_starts_what_waits_as_far_as_there_are_places(hand):
    hour = {"max_attempts": 3, "initial_delay": "1h", "max_delay": "1h", "jitter": 0}
    id_ = await hand.submit(fan([0, 1, 2, 3], parallelism=2, retry=hour))
    for a in await hand.lease():
        await hand.fail(a)
    two, three = (await hand.lease())[:2]
    await hand.fail(two)
    told = await hand.retry(id_)
    assert told.steps == ["each"]
    again = await hand.lease()
    assert [(a.item, a.attempt) for a in again] == [(0, 2)], "item 3 still has the other place"
    await hand.succeed(three)
    assert numbers(await hand.lease()) == [1]
    rescheduled = [e["item"] for e in await hand.events(id_) if e["type"] == "retry_rescheduled"]
    assert sorted(rescheduled) == [0, 1, 2]


async def test_a_lease_that_is_handed_back_keeps_its_place(hand):
    id_, a = await hand.start(fan([0, 1, 2], retry=RETRY))
    await hand.hand_back(a)
    assert await placed(hand) == (1, 1)
    again = await hand.lease_one()
    assert (again.item, again.attempt, again.is_retry) == (0, 2, False)
    assert (await hand.fail(again)).verdict == "retry"
    events = await hand.events(id_)
    [released] = [e for e in events if e["type"] == "lease_released"]
    assert (released["item"], released["attempt"]) == (0, 1)
    [retry] = [e for e in events if e["type"] == "step_retry"]
    assert retry["data"]["decision"]["after"]["counted"] == 1, "handed back is not counted"


async def test_time_in_the_queue_runs_only_with_a_place(hand):
    id_, first = await hand.start(fan([0, 1, 2], queue_ttl="10s", retry=RETRY))
    for _ in range(3):
        await hand.pass_time(10)
        await hand.beat(first)
    await hand.settle_down()
    assert "queue_expired" not in await hand.types(id_), "they wait for a place, not for a worker"
    await hand.succeed(first)
    await hand.wait(9)
    assert "queue_expired" not in await hand.types(id_)
    await hand.wait(1)
    assert await told_of(hand, id_, 1) == [("queue_expired", 1), ("step_retry", 1)]
    assert (await hand.lease_one()).item == 2, "it has left its place"


async def test_the_same_report_again_gets_the_first_answer(hand):
    id_ = await hand.submit(fan([0, 1, 2], parallelism=3, retry=RETRY, tolerate=1))
    leased = by_item(await hand.lease())
    outcomes = {
        0: Outcome("failed", facts=Facts(status_code=503)),
        1: Outcome("succeeded", "one"),
        2: Outcome("failed", facts=Facts(fatal=True)),
    }
    reports = [
        Report(a.execution_id, a.item_id, a.attempt, a.token, outcomes[n], a.step) for n, a in leased.items()
    ]
    first = await hand.engine.report(reports)
    assert sorted(str(answer.verdict) for answer in first) == ["complete", "fail", "retry"]
    before = await hand.types(id_)
    assert await hand.engine.report(reports) == first
    assert await asyncio.gather(*(hand.engine.report([r]) for r in reports)) == [[one] for one in first]
    assert await hand.types(id_) == before
    assert (await counts(hand, id_)) == {"total": 3, "retrying": 1, "succeeded": 1, "failed": 1}


async def test_an_item_whose_inputs_cannot_be_rendered_fails_alone(hand):
    id_, one = await hand.start(fan([{"n": 1}, {}], parallelism=2, tolerate=1, args={"x": "{{ item.n }}"}))
    assert one.item == 0
    await hand.succeed(one, "fine")
    await hand.finish_background_work()
    execution = await hand.get(id_)
    assert (execution["status"], execution["result"]) == ("completed", {"each": ["fine", None]})
    [failed] = execution["steps"]["each"]["failures"]
    assert (failed["item"], failed["reason"]) == (1, "template_error")
