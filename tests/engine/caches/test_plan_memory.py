"""Tests that plans in memory are limited by their size, not by their number."""

from __future__ import annotations

import pytest
from support.hand import Hand, one_postgres

from tenax.engine.caches.weighted_cache import BYTES_OF_PLAN, BYTES_OF_STEP, WeightedCache, weight_of_plan
from tenax.policy.check import load_workflow
from tenax.policy.plan import make_plan

SHARE = 2_000_000


def definition(name: str, steps: int) -> str:
    lines = "\n".join(f"  - {{step: s{n}, type: python, task: 't:t'}}" for n in range(steps))
    return f"name: {name}\nworkflow:\n{lines}\n"


@one_postgres
@pytest.mark.settings(plan_memory=3 * SHARE)
async def test_large_definitions_make_room_for_each_other(hand: Hand) -> None:
    context = hand.engine.context
    ids = []
    for n in range(12):
        ids.append(await hand.submit(definition(f"large{n}", 100)))
        assert context.plans.weight <= SHARE
        assert context.reading.weight <= SHARE
    assert context.plans.weight > SHARE / 2, "what fits is kept"
    # One that had to go is read again when it is needed.
    assert len((await hand.get(ids[0]))["steps"]) == 100


@one_postgres
@pytest.mark.settings(plan_memory=3)
async def test_one_that_is_larger_than_the_memory_works_all_the_same(hand: Hand) -> None:
    execution_id = await hand.submit(definition("large", 3))
    for a in await hand.lease():
        assert (await hand.succeed(a)).status == "applied"
    assert await hand.status(execution_id) == "completed"
    await hand.engine.store_workflow(definition("stored", 3))
    for _ in range(2):
        assert (await hand.get(await hand.submit(None, workflow="stored")))["workflow"] == "stored"


def test_the_weight_of_a_plan_grows_with_its_steps_and_values() -> None:
    plan = make_plan(load_workflow(definition("x", 10)), None)
    assert weight_of_plan(plan) > BYTES_OF_PLAN + 10 * BYTES_OF_STEP


@pytest.mark.parametrize(
    "source",
    [
        "name: x\nworkflow: [{step: a, type: python, task: t, args: {x: TEXT}}]\n",
        "name: x\nworkflow: [{step: a, type: python, task: t, for_each: [TEXT]}]\n",
        "name: x\nworkflow: [{step: a, type: python, task: t, on_failure: {value: TEXT}}]\n",
        "name: x\ninput: {a: {description: TEXT}}\nworkflow: [{step: a, type: python, task: t}]\n",
        "name: x\ninput: {a: {default: TEXT}}\nworkflow: [{step: a, type: python, task: t}]\n",
        "name: x\noutputs: {a: TEXT}\nworkflow: [{step: a, type: python, task: t}]\n",
        "name: x\ndescription: TEXT\nworkflow: [{step: a, type: python, task: t}]\n",
    ],
)
def test_the_weight_of_a_plan_counts_every_large_value(source: str) -> None:
    plan = make_plan(load_workflow(source.replace("TEXT", "y" * 100_000)), None)
    assert weight_of_plan(plan) > 100_000


def test_what_was_not_used_for_longest_goes_first() -> None:
    kept: WeightedCache[str, int] = WeightedCache(10, lambda value: value)
    assert [*kept.keep("a", 4), *kept.keep("b", 4)] == []
    assert kept.use("a") == 4
    assert list(kept.keep("c", 4)) == [4]
    assert ("a" in kept, "b" in kept, kept.weight) == (True, False, 8)
    assert list(kept.keep("c", 1)) == []
    assert (len(kept), kept.weight) == (2, 5)
    assert sorted(kept.keep("d", 100)) == [1, 4]
    assert (kept.peek("d"), kept.peek("a"), kept.use("a"), kept.weight) == (100, None, None, 100)
