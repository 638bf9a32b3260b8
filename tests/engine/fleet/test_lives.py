"""Tests the lives and states of workers: takeover of a name, restarts, pause, drain, going and forgetting."""

from __future__ import annotations

import pytest
from support.hand import Hand
from support.worker_lives import (
    PATIENT,
    arrive,
    changes,
    crash,
    crash_often,
    fail_often,
    fleet_events,
    health,
    live,
    new_life,
    take,
)

from tenax.errors import Conflict, NotFound
from tenax.model.fleet.health import HealthReport

OLD, NEW = new_life(), new_life()
DAY = 86400


async def taken_over(hand: Hand) -> None:
    """`w1` has an old life and a new one."""
    await hand.register("w1", life=OLD)
    await hand.clock.advance(1)
    await hand.register("w1", life=NEW)
    await hand.look()


async def state(hand: Hand, worker: str) -> str:
    return (await hand.engine.worker(worker)).state


async def test_a_later_life_gets_the_work_and_the_earlier_one_finishes_its_own(hand):
    id_ = await hand.submit()
    await hand.register("w1", life=OLD)
    running = await hand.lease_one("w1", life=OLD)
    await hand.clock.advance(1)
    await hand.register("w1", life=NEW)
    await hand.look()
    other = await hand.submit()
    assert await hand.lease("w1", life=OLD) == []
    [fresh] = await hand.lease("w1", life=NEW)
    assert fresh.execution_id == other

    for _ in range(6):
        await hand.pass_time(10)
        answer = await hand.beat(running, life=OLD)
        assert (answer.revoked, answer.known, answer.superseded) == ((), True, True)
        answer = await hand.beat(fresh, life=NEW)
        assert (answer.revoked, answer.superseded, answer.state) == ((), False, "active")
        assert await hand.engine.reap() == 0
    assert (await hand.succeed(running, "of old")).status == "applied"
    assert (await hand.get(id_))["result"] == {"only": "of old"}


async def test_an_earlier_life_does_not_speak_for_a_later_one(hand):
    await taken_over(hand)
    await hand.beat(life=OLD, leaving=True)
    assert await state(hand, "w1") == "active"
    await live(hand, 20)
    await hand.beat(life=OLD, health=HealthReport(status="unhealthy"))
    told = await hand.engine.worker("w1")
    assert told.heartbeat_age == 20
    assert told.reported is None
    await hand.beat(life=NEW, leaving=True)
    assert await state(hand, "w1") == "gone"


async def test_a_worker_without_a_life_does_not_speak_for_one_that_has_one(hand):
    await hand.register("w1")
    assert (await hand.beat(life=None)).superseded is False
    await hand.register("w1", life=NEW)
    await live(hand, 20)
    answer = await hand.beat(life=None, leaving=True, health=HealthReport(status="unhealthy"))
    assert (answer.known, answer.superseded) == (True, True)
    told = await hand.engine.worker("w1")
    assert (told.state, told.heartbeat_age, told.reported) == ("active", 20, None)


async def test_a_sick_worker_is_as_sick_when_it_has_left_and_starts_again(hand):
    await arrive(hand, "good", "w1")
    await hand.submit(PATIENT)
    await fail_often(hand, "w1", 10)
    assert await health(hand, "w1") == ("unhealthy", "consecutive_failures")
    await hand.beat(worker="w1", leaving=True)
    await hand.look()
    await hand.register("w1", life=NEW)
    assert await hand.lease("w1", life=NEW) == [], "before anyone has looked at it again"
    await hand.look()
    assert await hand.lease("w1", life=NEW) == []


@pytest.mark.parametrize(
    ("holds", "leaves", "losses", "took_over"),
    [(True, False, 1, True), (False, False, 0, True), (False, True, 0, False)],
)
async def test_a_life_that_was_lost_with_work_in_its_hands_counts_as_one_loss(
    hand, holds, leaves, losses, took_over
):
    await hand.submit()
    await hand.register("w1", life=OLD)
    if holds:
        await hand.lease_one("w1", life=OLD)
    await hand.clock.advance(1)
    if leaves:
        await hand.beat(life=OLD, leaving=True)
    await hand.register("w1", life=NEW)
    assert (await hand.engine.worker("w1")).losses == losses
    told = await fleet_events(hand, "worker_registered", "w1")
    assert [e["took_over"] for e in told] == [False, took_over]


async def test_the_same_life_that_registers_again_takes_nothing_over(hand):
    await hand.submit()
    await hand.register("w1", life=OLD)
    running = await hand.lease_one("w1", life=OLD)
    await hand.clock.advance(1)
    await hand.register("w1", life=OLD)
    await hand.look()
    assert (await hand.beat(running, life=OLD)).superseded is False
    assert (await hand.engine.worker("w1")).losses == 0
    await live(hand, 30)
    assert (await hand.engine.worker("w1")).losses == 1, "what it had before it did so is lost all the same"


async def test_a_restart_clears_nothing_and_another_version_does(hand):
    await arrive(hand, "good")
    await arrive(hand, "w1", version="1")
    await hand.submit(PATIENT)
    await fail_often(hand, "w1", 9)
    await crash(hand, "w1", version="1")
    assert await health(hand, "w1") == ("unhealthy", "consecutive_failures")
    await arrive(hand, "w1", version="1")
    assert await health(hand, "w1") == ("unhealthy", "consecutive_failures")
    await hand.clock.advance(1)
    await arrive(hand, "w1", version="2")
    assert await health(hand, "w1") == ("healthy", None)
    assert (await changes(hand, "w1"))[-1] == ("unhealthy", "healthy", None)
    told = await hand.engine.worker("w1")
    assert (told.consecutive_failures, told.runs, told.losses, told.version) == (0, 0, 0, "2")
    assert told.probe_at is None


async def test_what_an_earlier_version_lost_is_not_held_against_the_next(hand):
    await arrive(hand, "w1", version="1")
    await hand.submit(PATIENT)
    await take(hand, "w1")
    await hand.clock.advance(1)
    await arrive(hand, "w1", version="2")
    await live(hand, 40, "w1")
    assert (await hand.engine.worker("w1")).losses == 0
    assert len(await hand.lease("w1")) == 1, "the lease of the earlier one is over"


async def test_a_pause_gives_nothing_new_and_outlives_a_restart(hand):
    await hand.submit()
    await hand.submit()
    await hand.register("w1", life=OLD)
    running = await take(hand, "w1")
    assert await hand.engine.pause_worker("w1", actor="ann", reason="disk full") is True
    assert await hand.engine.pause_worker("w1", actor="ann") is False
    await hand.look()
    assert await hand.lease("w1") == []
    answer = await hand.beat(running, life=OLD)
    assert (answer.state, answer.leave, answer.revoked) == ("paused", False, ())
    await hand.succeed(running)

    await hand.beat(life=OLD, leaving=True)
    assert await state(hand, "w1") == "gone"
    await hand.register("w1", life=NEW, version="other")
    await hand.look()
    told = await hand.engine.worker("w1")
    assert (told.state, told.state_actor, told.state_reason) == ("paused", "ann", "disk full")
    assert await hand.lease("w1") == []
    assert await hand.engine.resume_worker("w1", actor="bob") is True
    await hand.look()
    assert len(await hand.lease("w1")) == 1
    told = await fleet_events(hand, "operator_action", "w1")
    assert [(e["action"], e["actor"]) for e in told] == [("worker_pause", "ann"), ("worker_resume", "bob")]


async def test_a_drained_worker_is_told_to_leave_and_the_next_life_is_active(hand):
    await hand.submit()
    await hand.submit()
    await hand.register("w1", life=OLD)
    running = await take(hand, "w1")
    assert (await hand.beat(running, life=OLD)).leave is False
    assert await hand.engine.drain_worker("w1", actor="ann", reason="an update") is True
    assert await hand.engine.drain_worker("w1", actor="ann") is False
    await hand.look()
    assert await hand.lease("w1") == []
    answer = await hand.beat(running, life=OLD)
    assert (answer.state, answer.leave, answer.revoked) == ("draining", True, ())
    assert (await hand.succeed(running)).status == "applied"
    await hand.beat(life=OLD, leaving=True)
    assert await state(hand, "w1") == "gone"
    with pytest.raises(Conflict, match="worker w1 is gone"):
        await hand.engine.resume_worker("w1", actor="ann")

    await hand.register("w1", life=NEW)
    await hand.look()
    told = await hand.engine.worker("w1")
    assert (told.state, told.state_actor, told.state_reason) == ("active", None, None)
    assert (await hand.beat(life=NEW)).leave is False
    assert len(await hand.lease("w1")) == 1


async def test_a_drain_can_be_called_off(hand):
    await hand.submit()
    await arrive(hand, "w1")
    await hand.engine.drain_worker("w1", actor="ann")
    assert await hand.engine.resume_worker("w1", actor="ann") is True
    await hand.look()
    assert (await hand.beat(worker="w1")).leave is False
    assert len(await hand.lease("w1")) == 1


async def test_a_worker_that_drains_cannot_be_paused(hand):
    await arrive(hand, "w1")
    await hand.engine.drain_worker("w1", actor="ann")
    with pytest.raises(Conflict, match="worker w1 is draining"):
        await hand.engine.pause_worker("w1", actor="ann")


async def test_a_person_drains_a_worker_that_the_server_drained_so_that_it_leaves(hand):
    await arrive(hand, "good", "w1")
    await crash_often(hand, "w1")
    answer = await hand.beat(worker="w1")
    assert (answer.state, answer.leave) == ("draining", False)
    assert await hand.engine.drain_worker("w1", actor="ann") is True
    assert (await hand.beat(worker="w1")).leave is True
    assert await hand.engine.drain_worker("w1", actor="ann") is False


async def test_a_paused_worker_that_was_gone_gets_nothing_when_it_asks_again(hand):
    await arrive(hand, "w1")
    await hand.engine.pause_worker("w1", actor="ann")
    await live(hand, 100)
    await hand.engine.sweep()
    assert await state(hand, "w1") == "gone"
    await hand.look()
    await hand.submit()
    assert await hand.lease("w1") == []


async def test_a_worker_that_is_not_there_is_named_with_the_nearest_one(hand):
    await arrive(hand, "north-1", "south-7")
    with pytest.raises(NotFound, match=r"north-2.*north-1"):
        await hand.engine.pause_worker("north-2", actor="ann")
    with pytest.raises(NotFound, match="north-1"):
        await hand.engine.worker("north-")


async def test_a_silent_worker_is_gone_after_three_leases_and_comes_back_as_it_was(hand):
    await arrive(hand, "w1", "w2")
    await hand.engine.pause_worker("w1", actor="ann")
    await live(hand, 90, "w2")
    await hand.engine.sweep()
    assert await state(hand, "w1") == "paused"
    await live(hand, 1, "w2")
    await hand.engine.sweep()
    assert await state(hand, "w1") == "gone"
    assert len(await fleet_events(hand, "worker_lost", "w1")) == 1
    assert [w.name for w in await hand.engine.workers()] == ["w2"]
    assert [w.name for w in await hand.engine.workers(all=True)] == ["w1", "w2"]
    assert (await hand.beat(worker="w1")).state == "paused"
    assert await state(hand, "w1") == "paused"


async def test_a_worker_that_was_gone_for_long_is_forgotten_and_hears_so(hand):
    await hand.register("w1", life=OLD)
    await hand.beat(life=OLD, leaving=True)
    await hand.clock.advance(7 * DAY + 1)
    await hand.engine.sweep()
    assert await hand.engine.workers(all=True) == []
    assert (await hand.beat(life=OLD)).known is False
    await hand.register("w1", life=OLD)
    assert (await hand.beat(life=OLD)).known is True


async def test_all_that_is_known_of_a_worker(hand):
    await arrive(
        hand,
        "w1",
        version="7",
        queues=("default", "mail"),
        labels={"zone": "a"},
        slots=4,
        runtimes=("python",),
    )
    id_ = await hand.submit()
    assignment = await take(hand, "w1")
    told = await hand.engine.worker("w1")
    assert {k: getattr(told, k) for k in ("version", "queues", "labels", "slots", "runtimes")} == {
        "version": "7", "queues": ["default", "mail"], "labels": {"zone": "a"}, "slots": 4, "runtimes": ["python"],
    }  # fmt: skip
    [lease] = told.leases
    assert (lease.execution_id, lease.step, lease.item, lease.attempt) == (id_, "only", None, 1)
    assert told.leases_total == told.queue_depth == 1
    assert [c.column for c in told.columns][:2] == ["heartbeat_age", "consecutive_failures"]
    assert [e.type for e in told.events] == ["worker_registered"]
    await hand.succeed(assignment)
    assert (await hand.engine.worker("w1")).leases == []
