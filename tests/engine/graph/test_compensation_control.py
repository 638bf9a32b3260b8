"""Tests compensations that people control, or during which servers restart."""

from __future__ import annotations

import pytest
from support.compensation_workflows import CHAIN, PARALLEL, failed_at_d, standing, undo_all, undo_next


async def test_a_cancel_in_the_middle_ends_it(hand):
    id_ = await failed_at_d(hand)
    await hand.succeed(await undo_next(hand, "c"))
    undo = await undo_next(hand, "b")
    assert await hand.engine.cancel(id_, actor="ann") is True
    assert await standing(hand, id_) == ("cancelled", "cancelled")
    assert (await hand.succeed(undo)).status == "late"
    await hand.clock.advance(3600)
    await hand.settle_down()
    assert await hand.lease() == []
    cancelled = [e["step"] for e in await hand.events(id_) if e["type"] == "compensation_cancelled"]
    assert sorted(cancelled) == ["a", "b"]
    steps = (await hand.get(id_))["steps"]
    assert [steps[name]["compensation"]["status"] for name in "abc"] == [
        "cancelled",
        "cancelled",
        "completed",
    ]
    assert await hand.sql("select from tenax.item") == []


async def test_a_cancel_while_something_still_runs_ends_that_too(hand):
    id_ = await hand.submit(PARALLEL)
    work = {a.step: a for a in await hand.lease()}
    await hand.succeed(work["b"])
    await hand.fail(work["c"], status_code=404)
    await hand.engine.cancel(id_, actor="ann")
    assert await standing(hand, id_) == ("cancelled", "cancelled")
    assert (await hand.succeed(work["a"])).status == "late"
    assert await hand.lease() == []
    assert await hand.sql("select from tenax.item") == []


async def test_a_cancel_undoes_nothing(hand):
    id_ = await hand.submit(CHAIN)
    await hand.succeed(await hand.lease_one())
    await hand.engine.cancel(id_, actor="ann")
    assert await standing(hand, id_) == ("cancelled", None)
    assert await hand.lease() == []


async def test_a_pause_in_the_middle_holds_it_and_a_resume_lets_it_go_on(hand):
    id_ = await failed_at_d(hand)
    undo = await undo_next(hand, "c")
    await hand.engine.pause(id_, actor="ann")
    await hand.succeed(undo)
    await hand.settle_down()
    assert await hand.lease() == []
    assert await standing(hand, id_) == ("paused", "running")
    await hand.engine.resume(id_, actor="ann")
    assert await undo_all(hand) == ["b", "a"]
    assert await standing(hand, id_) == ("failed", "completed")


async def test_a_paused_execution_that_fails_undoes_once_it_is_resumed(hand):
    id_ = await hand.submit(CHAIN)
    await hand.succeed(await hand.lease_one())
    running = await hand.lease_one()
    await hand.engine.pause(id_, actor="ann")
    await hand.fail(running, status_code=404)
    assert await hand.lease() == []
    await hand.engine.resume(id_, actor="ann")
    assert await undo_all(hand) == ["a"]
    assert await standing(hand, id_) == ("failed", "completed")


async def test_it_goes_on_under_another_server(hand):
    id_ = await failed_at_d(hand)
    await hand.fail(await undo_next(hand, "c"))
    later = await hand.restarted()
    assert await later.engine.recover() == []
    await later.clock.advance(5)
    again = await undo_next(later, "c")
    assert again.attempt == 2
    await later.succeed(again)
    last = await hand.restarted()
    assert await undo_all(last) == ["b", "a"]
    assert await standing(last, id_) == ("failed", "completed")


@pytest.mark.parametrize("before", ["fails", "runs"])
@pytest.mark.parametrize("lost", ["compensates", "compensates and state = 'waiting'"])
async def test_compensations_that_were_lost_are_rebuilt_from_the_log_and_granted_nothing(hand, lost, before):
    id_ = await failed_at_d(hand)
    await hand.succeed(await undo_next(hand, "c"))
    undo = await undo_next(hand, "b")
    if before == "fails":
        await hand.fail(undo)
    await hand.sql(f"delete from tenax.item where {lost}")
    assert await hand.engine.recover() == ([id_] if lost == "compensates" else [])
    assert await standing(hand, id_) == ("running", "running")
    await hand.wait(31)
    await hand.pass_time(5)
    again = await undo_next(hand, "b")
    assert (again.attempt, again.is_retry, again.spec["args"]) == (2, True, {"undo": "done b"})
    assert (await hand.fail(again)).verdict == "fail", "that was its last attempt"
    assert await undo_all(hand) == ["a"]
    assert await standing(hand, id_) == ("failed", "failed")
    assert await hand.data_of(id_, "execution_compensated") == [{"completed": 2, "failed": 1}]


async def test_retry_now_starts_a_waiting_compensation_at_once(hand):
    id_ = await failed_at_d(hand)
    await hand.fail(await undo_next(hand, "c"))
    assert await hand.lease() == []
    assert (await hand.retry(id_)).steps == ["c"]
    assert (await undo_next(hand, "c")).attempt == 2
