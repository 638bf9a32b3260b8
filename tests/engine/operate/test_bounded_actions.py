"""Tests that what one operator asks for costs a bounded amount of time, memory and rows."""

from __future__ import annotations

from typing import Any

import pytest
from support.attack.loop_holds import free_loop
from support.hand import Hand, one_postgres
from support.laws import verify

from tenax.engine.operate import act as act_module
from tenax.engine.operate import filters as saved_module
from tenax.engine.operate import operator_action as action_module
from tenax.engine.operate.rescheduled_policy import rescheduled_policy
from tenax.errors import Conflict, UsageError
from tenax.model.filters.parse import parse_filter
from tenax.model.json_text import decode
from tenax.model.policy import Policy

pytestmark = one_postgres

HOURLY = "{max_attempts: 3, initial_delay: 1h, max_delay: 1h, jitter: 0}"
SPREAD = f"""
name: spread
input: {{list: {{}}}}
workflow:
  - {{step: each, type: python, task: "t:t", for_each: "{{{{ input.list }}}}", parallelism: 1000, retry: {HOURLY}}}
"""
RULES = [{"when": f"'x{n}' in data.text or attempt > {n}", "retry": True} for n in range(110)]


async def retrying(hand: Hand, count: int) -> int:
    """Items of a fan-out that have failed once and wait for an hour."""
    id_ = await hand.submit(SPREAD, input={"list": list(range(count))})
    for _ in range(count // 100):
        for one in await hand.lease(slots=100):
            await hand.fail(one)
    return id_


async def test_items_with_the_same_policy_share_the_one_that_is_made_of_it(hand, monkeypatch):
    made: list[Policy] = []

    def noted(*arguments: Any) -> Policy:
        made.append(rescheduled_policy(*arguments))
        return made[-1]

    monkeypatch.setattr(act_module, "rescheduled_policy", noted)
    id_ = await retrying(hand, 200)
    with free_loop():
        answer = await hand.act(
            id_, "reschedule", step="each", policy={"rules": RULES, "initial_delay": "10s"}
        )
    assert (answer.items, len(made)) == (200, 1)
    found = await hand.sql("select policy from tenax.item where policy is not null")
    assert {len(decode(row["policy"])["rules"]) for row in found} == {len(RULES)}
    assert len(found) == 200
    assert (await verify(hand))["violations"] == []


async def test_a_long_policy_is_refused(hand):
    id_ = await retrying(hand, 100)
    with pytest.raises(UsageError, match="longer than 8,000 characters"):
        await hand.act(id_, "reschedule", step="each", policy={"rules": RULES * 3})


@pytest.mark.parametrize(
    ("action", "more"),
    [("complete", {"result": "x" * 1_000}), ("reschedule", {"policy": {"rules": RULES[:20]}})],
)
async def test_what_is_written_for_each_of_many_items_is_bounded_in_all(hand, monkeypatch, action, more):
    monkeypatch.setattr(action_module, "MAX_WRITTEN", 50_000)
    id_ = await retrying(hand, 100)
    with pytest.raises(UsageError, match="for each of 100 items, and 50,000 in all are allowed"):
        await hand.act(id_, action, step="each", reason="known", **more)
    assert await hand.counts(id_, "operator_action") == (0,)
    await hand.act(id_, action, step="each", item=1, reason="known", **more)


async def test_there_are_so_many_saved_filters_and_no_more(hand, monkeypatch):
    monkeypatch.setattr(saved_module, "MAX_SAVED", 2)
    filters = hand.engine.filters
    for name in ("a", "b"):
        await filters.save(name, "status=failed", actor="ann")
    with pytest.raises(Conflict, match="there are 2 saved filters, which is the most"):
        await filters.save("c", "status=failed", actor="ann")
    assert not (await filters.save("b", "status=running", actor="ann")).created
    assert [one.name for one in await filters.list()] == ["a", "b"]


async def test_the_saved_filters_of_one_filter_are_bounded_together(hand):
    for n in range(5):
        await hand.engine.filters.save(f"long{n}", "text=" + "x" * 3_900, actor="ann")
    assert await hand.engine.list(parse_filter("@long0 @long1 @long2 @long3")) == []
    with pytest.raises(UsageError, match=r"have 19,525 characters, and 16,000 are allowed"):
        await hand.engine.list(parse_filter("@long0 @long1 @long2 @long3 @long4"))
