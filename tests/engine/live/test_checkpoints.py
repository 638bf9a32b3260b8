"""Checkpoints outlive the attempt: the next one gets the last of them, whatever ended the one before."""

from __future__ import annotations

import uuid

import pytest

from tenax.model.attempt.outcome import Outcome
from tenax.model.wire import Assignment, AttemptNotes, Held, HeldCheckpoint
from tenax.store.live.checkpoints import NO_CHECKPOINT, forget_checkpoints

FAN_OUT = """
name: pages
workflow:
  - step: each
    type: python
    task: some:task
    for_each: [a, b]
    parallelism: 200
    retry: {max_attempts: 3, initial_delay: 1, jitter: 0}
"""


async def tell(hand, assignment: Assignment, value: str, *, number: int = 1, token: str | None = None):
    told = HeldCheckpoint(assignment.item_id, token or assignment.token, number, value)
    return await hand.engine.take_notes(AttemptNotes("w1", (told,)))


async def again(hand) -> Assignment:
    await hand.clock.advance(5)
    return await hand.lease_one()


async def kept(hand) -> int:
    return len(await hand.sql("select 1 from tenax.checkpoint"))


async def test_the_first_attempt_has_none_and_the_next_one_has_the_last(hand):
    _, first = await hand.start()
    assert first.checkpoint is None
    await tell(hand, first, '{"page": 1}')
    await tell(hand, first, '{"page": 2}', number=2)
    await hand.fail(first)
    second = await again(hand)
    assert second.checkpoint == '{"page": 2}'
    await hand.fail(second)
    assert (await again(hand)).checkpoint == '{"page": 2}'


async def test_the_log_and_the_view_say_where_an_attempt_went_on(hand):
    id_, first = await hand.start()
    await tell(hand, first, "1")
    await hand.fail(first)
    await again(hand)
    starts = await hand.data_of(id_, "action_started")
    assert [start.get("resumed_from") for start in starts] == [None, 1]
    attempts = (await hand.get(id_))["steps"]["only"]["attempts"]
    assert [attempt["resumed_from"] for attempt in attempts] == [None, 1]
    assert not (await hand.engine.verify()).violations


async def test_after_a_lost_worker(hand):
    _, first = await hand.start()
    await tell(hand, first, "60")
    await hand.pass_time(30)
    await hand.engine.reap()
    assert (await again(hand)).checkpoint == "60"


async def test_after_a_lease_that_was_handed_back(hand):
    _, first = await hand.start()
    await tell(hand, first, "60")
    await hand.hand_back(first)
    assert (await hand.lease_one()).checkpoint == "60"


async def test_a_stale_attempt_keeps_nothing(hand):
    _, first = await hand.start()
    await tell(hand, first, "1")
    await hand.pass_time(30)
    await hand.engine.reap()
    second = await again(hand)
    answer = await tell(hand, first, "2", number=2)
    assert answer.revoked == (Held(first.item_id, first.token),)
    assert (await tell(hand, second, "3", token=str(uuid.uuid4()))).revoked
    await hand.fail(second)
    assert (await again(hand)).checkpoint == "1"


async def test_an_earlier_checkpoint_that_arrives_late_replaces_nothing(hand):
    _, first = await hand.start()
    await tell(hand, first, "2", number=2)
    assert not (await tell(hand, first, "1", number=1)).revoked
    await hand.fail(first)
    assert (await again(hand)).checkpoint == "2"


async def test_the_items_of_a_fan_out_have_their_own(hand):
    await hand.submit(FAN_OUT)
    for assignment in await hand.lease():
        await tell(hand, assignment, str(assignment.item))
        await hand.fail(assignment)
    await hand.clock.advance(5)
    assert {one.item: one.checkpoint for one in await hand.lease()} == {0: "0", 1: "1"}


async def test_one_that_is_too_large_is_not_kept(hand):
    _, first = await hand.start()
    await tell(hand, first, "x" * (hand.engine.context.settings.max_checkpoint + 1))
    assert await kept(hand) == 0


async def test_a_manual_retry_goes_on_from_it_and_a_reset_begins_anew(hand):
    for action, expected in (("retry", "9"), ("reset", None)):
        id_, first = await hand.start(worker="w1")
        await tell(hand, first, "9")
        await hand.fail(first, fatal=True)
        assert await hand.status(id_) == "failed"
        await hand.act(id_, action, reason="a test")
        second = await hand.lease_one()
        assert (second.execution_id, second.checkpoint) == (id_, expected)
        await hand.succeed(second)


async def test_a_reset_of_a_waiting_retry_begins_anew(hand):
    id_, first = await hand.start()
    await tell(hand, first, "9")
    await hand.fail(first)
    await hand.act(id_, "reset", reason="a test")
    assert (await again(hand)).checkpoint is None


async def test_a_new_execution_has_none(hand):
    id_, first = await hand.start()
    await tell(hand, first, "9")
    await hand.fail(first, fatal=True)
    await hand.engine.run_anew(id_, actor="ann")
    assert (await hand.lease_one()).checkpoint is None


@pytest.mark.parametrize("fatal", [False, True])
async def test_the_sweep_forgets_those_of_work_that_succeeded(hand, fatal):
    _, first = await hand.start()
    await tell(hand, first, "9")
    await (hand.fail(first, fatal=True) if fatal else hand.succeed(first))
    await hand.engine.sweep()
    assert await kept(hand) == fatal


async def test_the_sweep_forgets_those_of_items_that_succeeded_while_others_run(hand):
    await hand.submit(FAN_OUT)
    first, other = await hand.lease()
    for assignment in (first, other):
        await tell(hand, assignment, "1")
    await hand.report(first, Outcome("succeeded"))
    await hand.engine.sweep()
    [row] = await hand.sql("select item_no from tenax.checkpoint")
    assert row["item_no"] == other.item


async def test_a_sweep_looks_at_a_few_and_goes_on_from_there(hand):
    for _ in range(3):
        _, first = await hand.start()
        await tell(hand, first, "9")
        await hand.succeed(first)
    async with hand.engine.context.transaction() as tx:
        place = await forget_checkpoints(tx, NO_CHECKPOINT, 2)
        assert await kept(hand) == 3  # not committed yet
        assert await forget_checkpoints(tx, place, 2) != NO_CHECKPOINT
    assert await kept(hand) == 0


async def test_many_large_ones_are_read_beside_the_claim(hand):
    size = hand.engine.context.settings.max_checkpoint
    count = 8_000_000 // size + 3
    await hand.submit(FAN_OUT.replace("[a, b]", str(list(range(count)))))
    for assignment in await hand.lease(slots=count):
        await tell(hand, assignment, f'"{"x" * (size - 2)}"')
        await hand.fail(assignment)
    await hand.clock.advance(5)
    assert {len(one.checkpoint or "") for one in await hand.lease(slots=count)} == {size}
