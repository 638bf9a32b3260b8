"""Tests fan-outs with results that are too large, items that outlive their step, and time that counts from the slot on."""

from __future__ import annotations

import pytest
from support.fan_out_workflows import RETRY, by_item, counts, fan, give_up
from support.hand import Hand, one_postgres

from tenax.model.wire import Assignment

FORGIVEN = {"parallelism": 2, "on_failure": "continue"}


async def pass_busy(hand: Hand, a: Assignment, seconds: float) -> None:
    """Time in which the worker of this is alive."""
    while seconds > 0:
        await hand.pass_time(min(seconds, 20))
        await hand.beat(a)
        seconds -= 20


@one_postgres
async def test_results_that_are_too_large_for_one_list_fail_the_step(hand):
    """On one database only: to pass the 256 MB of one value takes some."""
    id_ = await hand.submit(fan([0, 1, 2], parallelism=3, retry=RETRY))
    leased = by_item(await hand.lease())
    await hand.succeed(leased[0])
    await hand.succeed(leased[1])
    await hand.sql("update tenax.item_result set result = to_jsonb(repeat('x', 140000000))")
    assert (await hand.succeed(leased[2])).verdict == "complete"
    execution = await hand.get(id_)
    failure = execution["failure"]
    assert (execution["status"], failure["step"]) == ("failed", "each")
    assert (failure["class"], failure["reason"]) == ("invalid", "result_too_large")
    assert "the results of its 3 items are too large to be one list" in failure["message"]
    assert await hand.sql("select from tenax.item") == []


async def test_an_item_of_a_failed_fan_out_that_is_handed_back_is_not_started_again(hand):
    id_ = await hand.submit(fan([0, 1], {"step": "z"}, **FORGIVEN))
    leased = {(a.step, a.item): a for a in await hand.lease()}
    await give_up(hand, leased["each", 0])
    await hand.hand_back(leased["each", 1])
    assert await hand.lease("w2") == []
    assert (await hand.types(id_))[-1] == "item_cancelled"
    await hand.succeed(leased["z", None])
    assert await hand.status(id_) == "completed"
    assert await hand.lease("w2") == []
    assert await hand.sql("select from tenax.item") == []
    assert await counts(hand, id_) == {"total": 2, "failed": 1, "cancelled": 1}


async def test_an_item_of_an_open_fan_out_that_is_handed_back_is(hand):
    await hand.submit(fan([0, 1], parallelism=2, tolerate=1))
    leased = by_item(await hand.lease())
    await give_up(hand, leased[0])
    await hand.hand_back(leased[1])
    again = await hand.lease_one("w2")
    assert (again.item, again.attempt) == (1, 2)


@pytest.mark.parametrize("end", ["fails", "is cancelled", "is over its deadline"])
async def test_nobody_looks_for_places_in_the_fan_outs_of_an_execution_that_is_over(hand, end):
    top = {"deadline": "10s"}
    id_ = await hand.submit(fan([0, 1, 2, 3], {"step": "z"}, parallelism=2, top=top))
    leased = {(a.step, a.item): a for a in await hand.lease()}
    match end:
        case "fails":
            await give_up(hand, leased["z", None])
        case "is cancelled":
            await hand.engine.cancel(id_, actor="ann")
        case _:
            await hand.pass_time(10)
            await hand.engine.reap()
    assert [row["parallelism"] for row in await hand.sql("select parallelism from tenax.fan")] == [None]
    for a in leased.values():
        await hand.succeed(a)
    assert await hand.lease() == []
    assert await hand.sql("select from tenax.item") == []


async def test_give_up_after_begins_when_an_item_gets_its_place(hand):
    retry = {**RETRY, "max_attempts": 9, "give_up_after": "60s"}
    id_ = await hand.submit(fan([0, 1, 2], retry=retry, tolerate=3))
    for _ in range(2):
        one = await hand.lease_one()
        await pass_busy(hand, one, 40)
        await hand.succeed(one)
    last = await hand.lease_one()
    assert (await hand.fail(last)).verdict == "retry", "it has waited for 80 seconds, and run for none"
    await hand.wait(1)
    again = await hand.lease_one()
    await pass_busy(hand, again, 60)
    assert (await hand.fail(again)).verdict == "fail", "a retry does not begin anew"
    assert await hand.status(id_) == "completed"


async def test_so_does_the_deadline_of_until(hand):
    until = {"condition": "result == 1", "delay": "5s", "deadline": "30s"}
    _, first = await hand.start(fan([0, 1], until=until, tolerate=2))
    await pass_busy(hand, first, 40)
    await hand.succeed(first, 1)
    second = await hand.lease_one()
    assert (await hand.succeed(second, 0)).verdict == "retry"
    await hand.wait(5)
    second = await hand.lease_one()
    await pass_busy(hand, second, 30)
    assert (await hand.succeed(second, 0)).verdict == "fail"
