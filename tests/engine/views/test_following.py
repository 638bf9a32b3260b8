"""Tests following an execution: a reader that resumes skips nothing, in whatever order transactions commit."""

from __future__ import annotations

import asyncio

import pytest
from support.fan_out_workflows import fan

from tenax.engine.notifier import Notifier
from tenax.model.attempt.outcome import Outcome
from tenax.model.wire import Assignment, Report
from tenax.store.transaction import transaction

TWO = """
name: two
workflow:
  - {step: a, type: python, task: "t:t"}
  - {step: b, type: python, task: "t:t"}
"""


async def test_a_follower_misses_nothing_and_sees_nothing_twice_whatever_the_order_of_commits(hand):
    """The slow transaction draws its event's id first and commits last."""
    database = hand.engine.context.database
    id_ = await hand.submit(TWO)
    first = await hand.news(id_)
    assert [e["seq"] for e in first["events"]] == [1, 2, 3]
    async with transaction(database) as slow:
        await slow.execute(
            "insert into tenax.log (execution_id, at, events) values ($1, tenax.now(), $2)",
            id_,
            '[{"type": "late_result", "attempt": 1, "data": {"status": "succeeded"}}]',
        )
        await hand.lease()
        second = await hand.news(id_, cursor=first["cursor"])
        assert [e["type"] for e in second["events"]] == ["action_started"] * 2
    third = await hand.news(id_, cursor=second["cursor"])
    assert [e["type"] for e in third["events"]] == ["late_result"]
    assert (await hand.news(id_, cursor=third["cursor"]))["events"] == []
    assert [e["seq"] for e in await hand.events(id_)] == [1, 2, 3, 4, 5, 6]


async def test_waiting_ends_with_the_first_news_or_with_the_time(hand):
    id_ = await hand.submit()
    known = await hand.news(id_)
    assert (await hand.news(id_, cursor=known["cursor"], wait=0.01))["events"] == []
    await hand.lease()
    [news] = (await hand.news(id_, cursor=known["cursor"], wait=30))["events"]
    assert news["type"] == "action_started"


async def test_a_month_that_began_without_its_partition_stays_in_the_default_one(hand):
    [row] = await hand.sql("select to_char(statement_timestamp(), 'YYYYMM') as month")
    await hand.sql(f"drop table tenax.log_{row['month']}")
    id_ = await hand.submit()
    await hand.engine.prepare()
    await hand.succeed(await hand.lease_one())
    assert (await hand.types(id_))[-1] == "execution_completed"


@pytest.mark.parametrize("how", ["by itself", "as its command ends"])
async def test_another_server_hears_of_what_only_followers_ask_for(hand, how: str):
    """It is told a moment later than of work, which is there to be done."""
    notifier = hand.engine.context.notifier
    elsewhere = Notifier(hand.engine.context.database)
    loops = [asyncio.create_task(elsewhere.receive())]
    async with elsewhere.following(7) as changed, asyncio.timeout(20):
        await changed.wait()  # it listens: from here on nothing is missed
        changed.clear()
        notifier.announce(executions={7})
        if how == "by itself":
            loops.append(asyncio.create_task(notifier.send()))
        else:
            await notifier.flush()
        await changed.wait()
    for loop in loops:
        loop.cancel()
    await asyncio.gather(*loops, return_exceptions=True)


def reported(leased: list[Assignment], outcome: Outcome) -> list[Report]:
    return [Report(a.execution_id, a.item_id, a.attempt, a.token, outcome, a.step, a.item) for a in leased]


async def test_news_number_what_is_new_as_the_whole_history_does(hand):
    id_ = await hand.submit(fan(list(range(50)), parallelism=50))
    seen, cursor = [], None
    for slots in (40, 7, 3):
        leased = await hand.lease(slots=slots)
        news = await hand.news(id_, cursor=cursor)
        await hand.engine.report(reported(leased, Outcome("succeeded", 1)))
        seen += news["events"]
        cursor = news["cursor"]
    last = await hand.news(id_, cursor=cursor)
    assert [*seen, *last["events"]] == list(await hand.events(id_))
    assert (await hand.news(id_, cursor=last["cursor"]))["events"] == []
