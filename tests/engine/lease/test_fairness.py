"""Tests that large fan-outs, their children and large graphs take turns, and leave seven of eight slots to other items."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise

import pytest
from support.child_workflows import LEAF, begun
from support.hand import Hand
from support.strategies.scheduling import (
    ask,
    by_execution,
    claim_all,
    lease_all,
    look_anew,
    one_step,
    submit_many,
)


def fan_out(count: int, name: str = "fan_out", **keys: object) -> str:
    return one_step(name, for_each=list(range(count)), parallelism=count, **keys)


async def smalls_of_each_claim(hand: Hand, large: set[int], claims: int, slots: int = 10) -> list[int]:
    """Counts the slots of each claim that went to small executions."""
    counts = []
    for _ in range(claims):
        leased = await hand.lease(slots=slots)
        assert len(leased) == slots
        counts.append(sum(a.execution_id not in large for a in leased))
    return counts


async def test_small_executions_do_not_wait_behind_a_large_fan_out(hand):
    large = await hand.submit(fan_out(2000))
    await hand.clock.advance(5)
    await submit_many(hand, 20)
    assert await smalls_of_each_claim(hand, {large}, 4) == [9, 9, 2, 0]


async def test_of_eight_slots_one_goes_to_the_fan_out_even_if_there_is_only_one_slot_at_a_time(hand):
    large = await hand.submit(fan_out(50))
    await submit_many(hand, 50)
    leased = [a for _ in range(32) for a in await hand.lease(slots=1)]
    turns = "".join("X" if a.execution_id == large else "." for a in leased)
    assert turns == ".......X" * 4


@pytest.mark.parametrize(
    "limit", [40, {"limit": 40, "key": "{{ input.key }}"}], ids=["of the step", "by a key"]
)
async def test_a_fan_out_under_a_limit_has_its_turns_too(hand, limit):
    large = await hand.submit(fan_out(50, concurrency=limit))
    await submit_many(hand, 50)
    assert await smalls_of_each_claim(hand, {large}, 4, slots=8) == [7, 7, 7, 7]


async def test_a_fan_out_has_no_turn_before_what_has_waited_longer(hand):
    await submit_many(hand, 20)
    await hand.clock.advance(1)
    large = await hand.submit(fan_out(50))
    await submit_many(hand, 10)
    assert await smalls_of_each_claim(hand, {large}, 4, slots=10) == [10, 10, 8, 2]


async def test_new_work_retries_and_a_fan_out_take_turns(hand):
    large = await hand.submit(fan_out(50))
    retried = await submit_many(hand, 14)
    for assignment in await lease_all(hand, 16):
        await hand.fail(assignment)
    await hand.pass_time(10)
    new = await submit_many(hand, 20)
    counts = by_execution(await hand.lease(slots=16))
    assert [sum(counts.get(id_, 0) for id_ in ids) for ids in (retried, new, [large])] == [7, 7, 2]


async def test_a_fan_out_has_all_slots_that_nobody_else_wants(hand):
    large = await hand.submit(fan_out(100))
    assert by_execution(await hand.lease(slots=60)) == {large: 60}
    await submit_many(hand, 3)
    assert by_execution(await hand.lease(slots=40))[large] == 37


async def test_fan_outs_take_turns(hand):
    first = await hand.submit(fan_out(300))
    await hand.clock.advance(60)
    second = await hand.submit(fan_out(300, "other"))
    third = await hand.submit(fan_out(300, "third"))
    assert by_execution(await hand.lease(slots=30)) == {first: 10, second: 10, third: 10}
    turns = [a.execution_id for _ in range(9) for a in await hand.lease(slots=1)]
    assert Counter(turns) == {first: 3, second: 3, third: 3}
    assert all(one != next_ for one, next_ in pairwise(turns))


async def test_a_fan_out_whose_turn_it_is_but_has_nothing_ready_does_not_hold_up_the_others(hand):
    first = await hand.submit(fan_out(12))
    second = await hand.submit(fan_out(30, "other"))
    for assignment in [a for a in await hand.lease(slots=24) if a.execution_id == first]:
        await hand.fail(assignment)
    assert by_execution(await lease_all(hand, 50)) == {second: 18}
    await hand.clock.advance(5)
    assert by_execution(await lease_all(hand, 50)) == {first: 12}


async def test_children_of_a_fan_out_take_its_turns(hand):
    await hand.engine.store_workflow(LEAF)
    calls = [{"step": "call", "type": "workflow", "workflow": "leaf"}]
    each = {"for_each": list(range(100)), "parallelism": 100}
    parent = await begun(hand, json.dumps({"name": "parent", "workflow": [calls[0] | each]}))
    rows = await hand.sql("select id, lane from tenax.execution where parent_id is not null")
    assert [row["lane"] for row in rows] == [parent] * 100
    await submit_many(hand, 20)
    assert await smalls_of_each_claim(hand, {row["id"] for row in rows}, 3) == [9, 9, 2]


async def test_a_fan_out_within_a_child_of_a_fan_out_gets_no_turns_of_its_own(hand):
    nested = one_step("nested", for_each=list(range(50)), parallelism=50)
    await hand.engine.store_workflow(nested)
    step = {"step": "call", "type": "workflow", "workflow": "nested"}
    each = {"for_each": list(range(20)), "parallelism": 20}
    parent = await begun(hand, json.dumps({"name": "parent", "workflow": [step | each]}))
    other = await hand.submit(fan_out(100))
    leased = by_execution(await hand.lease(slots=40))
    assert leased[other] == 20
    assert {row["lane"] for row in await hand.sql("select lane from tenax.item where lane > 0")} == {
        parent,
        other,
    }


@pytest.mark.parametrize(("steps", "takes_turns"), [(50, False), (51, True), (60, True)])
async def test_a_graph_of_more_than_fifty_steps_takes_turns(hand, steps, takes_turns):
    graph = [{"step": f"s{n}", "type": "python", "task": "t:t", "needs": []} for n in range(steps)]
    large = await hand.submit(json.dumps({"name": "wide", "workflow": graph}))
    await hand.clock.advance(1)
    await submit_many(hand, 20)
    leased = by_execution(await hand.lease(slots=8))
    assert leased[large] == (1 if takes_turns else 8)


@pytest.mark.parametrize(("items", "takes_turns"), [(10, False), (11, True)])
async def test_a_fan_out_of_more_than_ten_items_takes_turns(hand, items, takes_turns):
    large = await hand.submit(fan_out(items))
    await hand.clock.advance(1)
    await submit_many(hand, 20)
    leased = by_execution(await hand.lease(slots=8))
    assert leased[large] == (1 if takes_turns else 8)


async def test_what_comes_back_to_a_fan_out_takes_its_turns_there(hand):
    """A retry, a lease that was handed back, and one that ran out."""
    large = await hand.submit(fan_out(30))
    leased = await hand.lease(slots=30)
    for assignment in leased[:10]:
        await hand.fail(assignment)
    back = leased[10:20]
    await hand.hand_back(*back)
    await hand.pass_time(30)
    await hand.engine.reap()
    await hand.pass_time(30)
    await submit_many(hand, 50)
    assert await smalls_of_each_claim(hand, {large}, 4, slots=8) == [7, 7, 7, 7]


async def test_priority_goes_before_turns(hand):
    await submit_many(hand, 30)
    await hand.clock.advance(1)
    large = await hand.submit(fan_out(25, priority=9))
    assert await smalls_of_each_claim(hand, {large}, 3) == [0, 0, 5]


async def test_retries_that_are_not_due_do_not_put_back_fan_outs_of_their_priority(hand):
    """The first fan-out waits for an hour; the second one, of the same priority, has work now."""
    patient = {"max_attempts": 5, "initial_delay": "1h", "max_delay": "1h", "backoff": "fixed", "jitter": 0}
    first = await hand.submit(fan_out(11, priority=9, retry=patient))
    for assignment in await hand.lease(slots=11):
        await hand.fail(assignment)
    second = await hand.submit(fan_out(11, "other", priority=9))
    await submit_many(hand, 20)
    look_anew(hand)
    assert by_execution(await hand.lease(slots=11)) == {second: 11}
    assert first not in by_execution(await lease_all(hand, 50))


async def test_what_one_fan_out_leaves_of_its_share_goes_to_the_others_of_its_priority(hand):
    few = await hand.submit(fan_out(11, priority=9))
    await hand.lease(slots=9)
    many = await hand.submit(fan_out(100, "other", priority=9))
    await submit_many(hand, 50)
    assert by_execution(await hand.lease(slots=40)) == {few: 2, many: 38}


async def test_turns_go_on_while_workers_are_able_to_run_different_things(hand):
    large = await hand.submit(fan_out(100))
    await submit_many(hand, 100)
    asking = [ask("A", 8), ask("B", 8, labels={"zone": "a"}), ask("C", 16, runtimes=("python",))]
    given = await claim_all(hand.engine, *asking)
    assert by_execution([a for one in given for a in one])[large] == 4


async def test_forty_fan_outs_have_as_many_turns_each(hand):
    ids = await submit_many(hand, 40, fan_out(11))
    turns = by_execution(await lease_all(hand, 80))
    assert turns == dict.fromkeys(ids, 2)
