"""Tests what `retry --from-failed` keeps: it is not run again, and it is undone if the new execution fails."""

from __future__ import annotations

from typing import Any

import pytest
from support.fan_out_workflows import by_item, fan, give_up
from support.hand import Hand


async def undone(hand: Hand) -> list[tuple[str, int | None, Any]]:
    """Carries out all compensations; what each of them was given."""
    seen = []
    while leased := await hand.lease():
        [undo] = leased
        assert undo.compensates
        seen.append((undo.step, undo.item, undo.spec["args"]))
        await hand.succeed(undo)
    return seen


UNDO = {"type": "python", "task": "t:undo"}

CARRIED: list[dict[str, Any]] = [
    {"step": "first", "compensate": {**UNDO, "args": {"got": "{{ result }}"}}},
    {"step": "second", "needs": ["each"], "compensate": UNDO},
    {"step": "third", "needs": ["second"]},
]

OF_ITEM = {**UNDO, "args": {"item": "{{ item }}", "index": "{{ index }}", "got": "{{ result }}"}}


async def retried(hand: Hand, id_: int) -> int:
    """Cancelled, and retried from where it was."""
    await hand.engine.cancel(id_, actor="ann")
    return int((await hand.engine.retry(id_, actor="ann", from_failed=True)).id)


async def test_steps_that_are_carried_over_one_after_the_other_are_not_run_again(hand):
    steps = [
        {"step": "a"},
        {"step": "b", "needs": ["a"]},
        {"step": "c", "needs": ["a"], "when": "false"},
        {"step": "d", "needs": ["b", "c"]},
        {"step": "e", "needs": ["d"]},
    ]
    id_ = await hand.submit(fan([0, 1], *steps, needs=["d"], parallelism=2))
    for step in ("a", "b", "d"):
        one = await hand.lease_one()
        assert one.step == step
        await hand.succeed(one, step)
    for one in await hand.lease():
        await (give_up(hand, one) if one.step == "e" else hand.succeed(one))
    new = int((await hand.engine.retry(id_, actor="ann", from_failed=True)).id)
    again = await hand.lease_one()
    assert again.step == "e", "it alone had not succeeded"
    await hand.succeed(again)
    execution = await hand.get(new)
    assert execution["status"] == "completed"
    assert (await hand.types(new)).count("step_enqueued") == 1


@pytest.mark.parametrize("times", [1, 2])
async def test_what_a_retry_carries_over_is_undone_when_it_fails(hand, times):
    source = fan(
        ["x", "y", "z"], *CARRIED, needs=["first"], parallelism=3, tolerate=1, compensate=OF_ITEM, retry=1
    )
    id_ = await hand.submit(source)
    await hand.succeed(await hand.lease_one(), "begun")
    leased = by_item(await hand.lease())
    await hand.succeed(leased[2], "Z")
    await give_up(hand, leased[1])
    await hand.succeed(leased[0], "X")
    for _ in range(times):
        assert (await hand.lease_one()).step == "second"
        id_ = await retried(hand, id_)
    await hand.succeed(await hand.lease_one())
    await give_up(hand, await hand.lease_one())
    assert await undone(hand) == [
        ("second", None, {}),
        ("each", 2, {"item": "z", "index": 2, "got": "Z"}),
        ("each", 0, {"item": "x", "index": 0, "got": "X"}),
        ("first", None, {"got": "begun"}),
    ]
    execution = await hand.get(id_)
    assert (execution["status"], execution["compensation"]) == ("failed", "completed")
    assert execution["steps"]["each"]["result"] == ["X", None, "Z"]


async def test_a_fan_out_over_nothing_has_nothing_to_undo_when_it_is_carried_over(hand):
    id_ = await hand.submit(fan([], *CARRIED, needs=["first"], compensate=OF_ITEM))
    await hand.succeed(await hand.lease_one(), "begun")
    assert (await hand.lease_one()).step == "second"
    await retried(hand, id_)
    await give_up(hand, await hand.lease_one())
    assert await undone(hand) == [("first", None, {"got": "begun"})]


@pytest.mark.parametrize("times", [1, 2])
async def test_a_value_that_stood_in_has_nothing_to_undo_however_often_it_is_carried_over(hand, times):
    steps = [{**CARRIED[0], "on_failure": {"value": "instead"}}, {"step": "second", "needs": ["first"]}]
    id_ = await hand.submit(fan([], *steps, needs=["second"]))
    await give_up(hand, await hand.lease_one(), "first broke")
    for _ in range(times):
        assert (await hand.lease_one()).step == "second"
        id_ = await retried(hand, id_)
    await give_up(hand, await hand.lease_one())
    assert await undone(hand) == []
    execution = await hand.get(id_)
    assert (execution["status"], execution["compensation"]) == ("failed", "completed")
    assert execution["steps"]["first"]["result"] == "instead"


@pytest.mark.parametrize("times", [0, 1, 2])
async def test_items_that_had_succeeded_are_undone_though_a_value_stood_in_for_their_fan_out(hand, times):
    source = fan(
        ["x", "y"], CARRIED[1], parallelism=2, compensate=OF_ITEM, on_failure={"value": "instead"}, retry=1
    )
    id_ = await hand.submit(source)
    leased = by_item(await hand.lease())
    await hand.succeed(leased[0], "X")
    await give_up(hand, leased[1])
    second = await hand.lease_one()
    for _ in range(times):
        id_ = await retried(hand, id_)
        second = await hand.lease_one()
    await give_up(hand, second)
    assert await undone(hand) == [("each", 0, {"item": "x", "index": 0, "got": "X"})]
