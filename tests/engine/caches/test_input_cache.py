"""Tests that large results and inputs are read once, and only for the steps that need them."""

from __future__ import annotations

import pytest
from support.fan_out_workflows import fan
from support.statements.sent_statements import counting

LARGE = ["x" * 100] * 2000


async def test_a_large_result_that_every_item_reads_is_read_once(hand):
    steps = {"step": "first"}
    args = {"x": "{{ steps.first.result[index] }}"}
    await hand.submit(fan(list(range(8)), steps, needs=["first"], parallelism=8, args=args))
    await hand.succeed(await hand.lease_one(), [f"{n} {LARGE}" for n in range(8)])
    read = await counting(hand, "load_step_results")
    leased = [a for _ in range(4) for a in await hand.lease(slots=2)]
    assert [a.spec["args"]["x"][:3] for a in leased] == [f"{n} [" for n in range(8)]
    assert len(read) == 2, "it is found to be large, and then read once"


async def test_a_large_result_that_a_fallback_may_still_replace_is_not_remembered(hand):
    first = {"step": "first", "on_failure": {"step": "second"}}
    reads = {"got": "{{ steps.first.result }}", "how": "{{ steps.first.status }}"}
    steps = [first, {"step": "second", "args": reads}, {"step": "last", "needs": ["first"], "args": reads}]
    await hand.submit(fan([], *steps))
    await hand.fail(await hand.lease_one(), fatal=True, message="x" * 200_000)
    second = await hand.lease_one()
    assert second.spec["args"] == {"got": None, "how": "failed"}
    await hand.succeed(second, LARGE)
    assert (await hand.lease_one()).spec["args"] == {"got": LARGE, "how": "failed"}


async def test_conditions_of_many_steps_read_a_stored_result_once(hand):
    wide = [
        {"step": f"s{n}", "needs": ["a", "b"], "when": "steps.a.result.go and steps.b.result"}
        for n in range(30)
    ]
    await hand.submit(fan([], {"step": "a"}, {"step": "b", "needs": ["a"]}, *wide))
    await hand.succeed(await hand.lease_one(), {"go": True})
    b = await hand.lease_one()
    read = await counting(hand, "load_step_results")
    await hand.succeed(b, 1)
    assert len(read) == 1
    assert len(await hand.lease(slots=50)) == 30


@pytest.mark.parametrize("reads", ["{{ item }}", "{{ input.rows[index] }}"])
async def test_a_large_input_is_read_only_by_those_who_need_it(hand, reads):
    rows = [f"{n} {n * 7919 % 10007}" for n in range(5000)]
    top = {"input": {"rows": {}}}
    source = fan("{{ input.rows }}", top=top, parallelism=9, args={"x": reads})
    await hand.submit(source, input={"rows": rows})
    read = await counting(hand, "load_small_inputs")
    leased = await hand.lease(slots=5)
    assert [a.spec["args"]["x"] for a in sorted(leased, key=lambda a: a.item or 0)] == rows[:5]
    assert len(read) == ("input" in reads)
