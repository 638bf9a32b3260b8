"""The progress of running attempts, and of fan-outs."""

from __future__ import annotations

from support.hand import Hand

from tenax.model.wire import Assignment, AttemptNotes, HeldProgress

FAN_OUT = """
name: pages
workflow:
  - step: each
    type: python
    task: some:task
    for_each: [a, b, c, d]
    parallelism: 4
"""


async def tell(
    hand: Hand, assignment: Assignment, fraction: float | None, message: str | None = None
) -> None:
    told = HeldProgress(assignment.item_id, assignment.token, fraction, message)
    await hand.engine.take_notes(AttemptNotes("w1", progress=(told,)))


async def test_the_last_progress_of_a_running_attempt_is_shown_with_the_time_left(hand):
    id_, first = await hand.start()
    assert (await hand.get(id_))["steps"]["only"]["progress"] is None
    await tell(hand, first, 0.1, "page 3 of 30")
    await hand.clock.advance(20)
    await tell(hand, first, 0.4, "page 12 of 30")
    found = (await hand.get(id_))["steps"]["only"]["progress"]
    assert (found["fraction"], found["message"], found["seconds_left"]) == (0.4, "page 12 of 30", 30.0)
    [same] = await hand.engine.progress(id_)
    assert (same.step, same.fraction) == ("only", 0.4)


async def test_it_is_gone_when_the_attempt_has_ended(hand):
    id_, first = await hand.start()
    await tell(hand, first, 0.4)
    await hand.fail(first)
    assert not await hand.engine.progress(id_)
    await hand.engine.sweep()
    assert not await hand.sql("select 1 from tenax.attempt_progress")


async def test_a_stale_attempt_tells_nothing(hand):
    id_, first = await hand.start()
    await hand.pass_time(30)
    await hand.engine.reap()
    await tell(hand, first, 0.4)
    assert not await hand.engine.progress(id_)


async def test_a_fan_out_counts_its_items_and_what_the_running_ones_tell(hand):
    id_ = await hand.submit(FAN_OUT)
    first, second, *_ = await hand.lease()
    await hand.clock.advance(30)
    assert not await hand.engine.progress(id_)
    await hand.succeed(first)
    [found] = await hand.engine.progress(id_)
    assert (found.fraction, found.message, found.seconds_left) == (0.25, None, 90.0)
    await tell(hand, second, 0.5, "half of it")
    found = (await hand.get(id_))["steps"]["each"]["progress"]
    assert (found["fraction"], found["message"], found["item"]) == (0.375, "half of it", second.item)
