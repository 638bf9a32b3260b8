"""Tests that the sweep rebuilds any rows of an open execution from the log, and grants no attempts by it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from support.fan_out_workflows import RETRY, by_item, fan, give_up
from support.hand import ASYNC, CALLED_BACK, Hand
from support.laws import laws_broken

from tenax.model.attempt.outcome import Facts, Outcome

pytestmark = pytest.mark.settings(callback_url="http://tenax.test")
ITEMS = ASYNC.replace(
    "    retry:", "    for_each: [a, b, c]\n    parallelism: 2\n    tolerate: 1\n    retry:"
)
FAILED = Outcome("failed", facts=Facts(status_code=503, message="the queue is full"))
ACCEPTED = Outcome("accepted", {"status_code": 202})
ALL = ("item", "fan", "item_result")
SOME = [
    ALL,
    ("item",),
    ("fan",),
    ("item_result",),
    ("item", "item_result"),
    ("fan", "item_result"),
    ("item", "fan"),
]
UNDO = {"type": "python", "task": "t:undo", "args": {"item": "{{ item }}", "got": "{{ result }}"}}


async def lose(hand: Hand, *tables: str) -> None:
    for table in tables:
        await hand.sql(f"delete from tenax.{table}")


async def starts(hand: Hand, id_: int) -> Counter[tuple[int | None, int | None]]:
    """Returns how often each attempt of each item has started."""
    return Counter((e["item"], e["attempt"]) for e in await hand.events_of(id_, "action_started"))


async def finish(hand: Hand, id_: int) -> dict[str, Any]:
    """Succeeds with everything, over all the time it takes."""
    for _ in range(60):
        for a in await hand.lease():
            await hand.succeed(a, a.item)
        if await hand.status(id_) != "running":
            break
        await hand.wait(1)
    return await hand.get(id_)


# -- async steps


async def test_a_callee_can_call_back_after_its_item_was_lost(hand):
    a = await hand.accepted()
    await lose(hand, "item")
    await hand.engine.sweep()
    assert await laws_broken(hand) == set()
    assert (await hand.call_back(a)).verdict == "complete"
    assert await hand.status(a.execution_id) == "completed"
    assert await laws_broken(hand) == set()


async def test_so_can_one_that_calls_back_before_its_answer_has_come(hand):
    await hand.submit(ASYNC)
    a = await hand.lease_one()
    await lose(hand, "item")
    await hand.engine.sweep()
    assert (await hand.call_back(a)).verdict == "complete"


async def test_the_receipt_stays_over_the_attempts_after_the_loss(hand):
    first = await hand.accepted()
    assert (await hand.call_back(first, FAILED)).verdict == "retry"
    await lose(hand, "item")
    await hand.engine.sweep()
    await hand.wait(10)
    second = await hand.lease_one()
    assert (second.attempt, second.item_id, second.receipt) == (2, first.item_id, first.receipt)
    assert (await hand.call_back(first)).verdict == "complete", "a success of an earlier attempt counts"
    assert await laws_broken(hand) == set()


@pytest.mark.parametrize("lost", SOME, ids="+".join)
async def test_the_callees_of_an_async_fan_out_can_call_back(hand, lost):
    id_ = await hand.submit(ITEMS)
    leased = by_item(await hand.lease())
    for a in leased.values():
        assert (await hand.report(a, ACCEPTED)).status == "applied"
    assert (await hand.call_back(leased[0], FAILED)).verdict == "retry"
    await hand.lease()
    await lose(hand, *lost)
    await hand.engine.sweep()
    assert (await hand.call_back(leased[1])).verdict == "complete"
    assert (await hand.call_back(leased[0])).verdict == "complete"
    execution = await finish(hand, id_)
    assert execution["status"] == "completed"
    assert execution["steps"]["job"]["result"][:2] == [CALLED_BACK.result, CALLED_BACK.result]
    assert max((await starts(hand, id_)).values()) == 1
    assert await laws_broken(hand) == set()


# -- fan-outs


@pytest.mark.parametrize("lost", SOME, ids="+".join)
async def test_a_fan_out_goes_on_where_it_was(hand, lost):
    id_ = await hand.submit(
        fan(list("abcdef"), parallelism=3, tolerate=2, retry={**RETRY, "max_attempts": 2})
    )
    leased = by_item(await hand.lease())
    await hand.succeed(leased[0], 0)
    await hand.fail(leased[1])
    await give_up(hand, leased[2])
    await hand.lease(slots=1)
    await lose(hand, *lost)
    await hand.engine.sweep()
    assert await laws_broken(hand) == set()
    [fan_row] = await hand.sql("select total, ended, failed, attempts, parallelism, tolerated from tenax.fan")
    assert tuple(fan_row) == (6, 2, 1, 2, 3, 2)
    await hand.wait(31)
    execution = await finish(hand, id_)
    assert execution["status"] == "completed"
    result = execution["result"]["each"]
    assert (result[0], result[2], result[4:]) == (0, None, [4, 5])
    started = await starts(hand, id_)
    assert max(started.values()) == 1, "no attempt number is used twice"
    assert [started[2, 2], started[0, 2]] == [0, 0], "what had ended has ended"
    assert max(attempt for item, attempt in started if item == 1) == 2, "no more attempts than the limit"
    assert await laws_broken(hand) == set()


async def test_a_fan_out_whose_items_had_used_up_their_attempts_gets_no_others(hand):
    id_ = await hand.submit(fan([0, 1], parallelism=2, retry={**RETRY, "max_attempts": 2}, tolerate=2))
    for _ in range(2):
        for a in await hand.lease():
            await hand.fail(a)
        if await hand.status(id_) == "running":
            await lose(hand, *ALL)
        await hand.engine.sweep()
        await hand.wait(1)
    assert await hand.lease() == []
    assert (await hand.get(id_))["steps"]["each"]["items"]["failed"] == 2
    assert len(await hand.events_of(id_, "action_started")) == 4
    assert await laws_broken(hand) == set()


async def test_a_fan_out_of_which_all_had_ended_but_its_rows_is_ended(hand):
    after = {"step": "after", "needs": ["each"], "args": {"all": "{{ steps.each.result }}"}}
    await hand.submit(fan([0, 1, 2], after, parallelism=3))
    leased = by_item(await hand.lease())
    for number in (0, 1):
        await hand.succeed(leased[number], number)
    await lose(hand, *ALL)
    await hand.engine.sweep()
    await hand.wait(1)  # what was running counts as lost
    await hand.wait(2)
    again = await hand.lease_one()
    assert (again.step, again.item, again.attempt) == ("each", 2, 2)
    await hand.succeed(again, 2)
    assert (await hand.lease_one()).spec["args"] == {"all": [0, 1, 2]}
    assert await laws_broken(hand) == set()


async def test_results_that_are_made_anew_can_be_undone(hand):
    last = {"step": "last", "needs": ["each"]}
    await hand.submit(fan(["x", "y"], last, parallelism=2, compensate=UNDO))
    leased = by_item(await hand.lease())
    await hand.succeed(leased[0], "X")
    await lose(hand, *ALL)
    await hand.engine.sweep()
    await hand.wait(1)
    await hand.wait(2)
    await hand.succeed(await hand.lease_one(), "Y")
    await give_up(hand, await hand.lease_one())
    seen = []
    while leased_now := await hand.lease():
        seen.append(leased_now[0].spec["args"])
        await hand.succeed(leased_now[0])
    assert sorted(seen, key=str) == [{"got": "X", "item": "x"}, {"got": "Y", "item": "y"}]


@pytest.mark.settings(lease=30.0)
async def test_events_of_other_steps_have_no_item_id(hand):
    """It would make every row of the log larger, and nobody asks for it."""
    id_, a = await hand.start()
    await hand.succeed(a)
    assert all("item_id" not in e["data"] for e in await hand.events(id_))
