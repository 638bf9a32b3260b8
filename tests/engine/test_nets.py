"""Nothing is ever stuck: what nobody is able to run, what nothing would wake; and the one server that looks after it."""

from __future__ import annotations

import pytest
from fans import fan
from hand import ONE_STEP, Hand
from undoing import data_of
from workforce import PATIENT, arrive, fail_often, live, take

from tenax.model.health import HealthReport


async def unserved(hand: Hand, id_: int, step: str = "only") -> dict | None:
    return (await hand.engine.get(id_))["steps"][step]["unserved"]


@pytest.mark.parametrize(
    ("worker", "keys", "why"),
    [
        (None, "", "no worker is live"),
        ({"runtimes": ("http",)}, "", "no live worker has the runtime python (queue default)"),
        ({"queues": ("mail",)}, "", "no live worker with the runtime python serves the queue default"),
        (
            {"labels": {"zone": "a"}},
            "labels: {zone: b}",
            "no live worker of the queue default with the runtime python has the labels zone=b",
        ),
    ],
)
def test_work_that_nobody_is_able_to_run_says_so_at_once(play, worker, keys, why):
    async def scene(hand: Hand):
        if worker is not None:
            await arrive(hand, "w1", **worker)
        id_ = await hand.submit(ONE_STEP.replace("retry:", f"{keys}\n    retry:"))
        labels = {"zone": "b"} if keys else {}
        assert await unserved(hand, id_) == {
            "reason": why,
            "since": (await hand.engine.get(id_))["created_at"],
            "queue": "default",
            "labels": labels,
        }
        await arrive(hand, "able", labels=labels)
        assert await unserved(hand, id_) is None
        await live(hand, 30)
        assert (await unserved(hand, id_))["reason"] == "no worker is live"

    play(scene)


def test_work_whose_able_workers_take_none_says_so(play):
    async def scene(hand: Hand):
        await arrive(hand, "w1", "w2")
        id_ = await hand.submit()
        await hand.engine.pause_worker("w1", actor="ann")
        assert await unserved(hand, id_) is None, "the other is there"
        await hand.beat(worker="w2", health=HealthReport(status="unhealthy"))
        await hand.look()
        assert (await unserved(hand, id_))["reason"] == (
            "no worker that is able to run it takes work: w1 is paused, w2 is unhealthy"
        )
        await hand.engine.drain_worker("w1", actor="ann")
        assert "w1 is draining" in (await unserved(hand, id_))["reason"]
        await hand.engine.resume_worker("w1", actor="ann")
        assert await unserved(hand, id_) is None

    play(scene)


def test_only_work_that_is_due_is_unserved(play):
    async def scene(hand: Hand):
        id_ = await hand.submit()
        running = await hand.lease_one()
        assert await unserved(hand, id_) is None, "it runs"
        await hand.fail(running)
        assert await unserved(hand, id_) is None, "its retry is not due yet"
        await hand.clock.advance(1)
        assert (await unserved(hand, id_))["reason"] == "no worker is live"
        await hand.engine.pause(id_, actor="ann")
        assert await unserved(hand, id_) is None, "it is paused"

    play(scene)


def test_work_waits_for_ever_for_a_worker_by_default(play):
    async def scene(hand: Hand):
        id_ = await hand.submit()
        await live(hand, 3600)
        assert await hand.types(id_) == ["execution_started", "step_enqueued"]

    play(scene)


def test_work_that_no_worker_is_able_to_run_for_too_long_fails_as_any_other(play):
    async def scene(hand: Hand):
        await arrive(hand, "w1", queues=("mail",))
        id_ = await hand.submit()
        await live(hand, 59, "w1")
        assert (await hand.types(id_))[-1] == "step_enqueued"
        await live(hand, 1, "w1")
        assert (await hand.types(id_))[2:] == ["queue_expired", "step_retry"]
        [expired] = await data_of(hand, id_, "queue_expired")
        assert expired["failure"]["class"] == "worker_unavailable"
        assert expired["failure"]["reason"] == "worker_wait_expired"
        [retry] = await data_of(hand, id_, "step_retry")
        assert (retry["attempt"], retry["max_attempts"], retry["delay_seconds"]) == (1, 3, 1.0)
        await live(hand, 70, "w1")
        await live(hand, 70, "w1")
        assert (await hand.types(id_))[4:] == [
            "queue_expired", "step_retry", "queue_expired", "step_retry_exhausted", "step_failed_terminal", "execution_failed",
        ]  # fmt: skip
        assert (await hand.engine.get(id_))["failure"]["class"] == "worker_unavailable"

    play(scene, worker_wait=60.0)


def test_the_next_attempt_of_what_no_worker_took_has_the_next_number(play):
    async def scene(hand: Hand):
        await hand.submit()
        await live(hand, 60)
        await live(hand, 1)
        await arrive(hand, "w1")
        assert (await take(hand, "w1")).attempt == 2

    play(scene, worker_wait=60.0)


def test_a_worker_that_was_there_until_lately_is_waited_for(play):
    async def scene(hand: Hand):
        await arrive(hand, "w1")
        await live(hand, 40, "w1")
        id_ = await hand.submit()
        await live(hand, 59)
        assert (await hand.types(id_))[-1] == "step_enqueued"
        await live(hand, 1)
        assert (await hand.types(id_))[-1] == "step_retry"

    play(scene, worker_wait=60.0)


def test_a_paused_worker_is_there_and_one_that_drains_is_not(play):
    async def scene(hand: Hand):
        await arrive(hand, "w1")
        await hand.engine.pause_worker("w1", actor="ann")
        id_ = await hand.submit()
        await live(hand, 600, "w1")
        assert (await hand.types(id_))[-1] == "step_enqueued"
        await hand.engine.drain_worker("w1", actor="ann")
        await live(hand, 50, "w1")
        assert (await hand.types(id_))[-1] == "step_enqueued"
        await live(hand, 10, "w1")
        assert (await hand.types(id_))[-1] == "step_retry"

    play(scene, worker_wait=60.0)


def test_an_unhealthy_worker_is_there_for_it_may_recover(play):
    async def scene(hand: Hand):
        await arrive(hand, "w1")
        await hand.beat(worker="w1", health=HealthReport(status="unhealthy"))
        id_ = await hand.submit()
        await live(hand, 120, "w1")
        assert "w1 is unhealthy" in (await unserved(hand, id_))["reason"]
        assert (await hand.types(id_))[-1] == "step_enqueued"

    play(scene, worker_wait=60.0)


def test_unserved_items_of_a_fan_out_fail_one_by_one(play):
    async def scene(hand: Hand):
        id_ = await hand.submit(fan([1, 2, 3], parallelism=2, tolerate=3))
        await live(hand, 60)
        await live(hand, 60)
        assert await hand.status(id_) == "completed"
        failed = [e for e in await hand.engine.events(id_) if e["type"] == "item_failed"]
        assert sorted(e["item"] for e in failed) == [0, 1, 2]
        assert {e["data"]["failure"]["class"] for e in failed} == {"worker_unavailable"}

    play(scene, worker_wait=60.0)


# -- items without a next wake-up


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        ("blocked = true", "it waited at no limit"),
        ("state = 'held', timeout_at = null", "it was held without an end"),
    ],
)
def test_an_item_that_nothing_would_wake_is_repaired_and_reported(play, broken, why):
    async def scene(hand: Hand):
        id_ = await hand.submit()
        await hand.sql(f"update tenax.item set {broken}")
        assert await hand.lease() == []
        await hand.engine.sweep()
        [told] = await data_of(hand, id_, "execution_activated")
        assert told == {"reason": why}
        if "held" in broken:
            await live(hand, 60)
            assert (await hand.types(id_))[-1] == "execution_failed", "max_hold is over"
        else:
            assert len(await hand.lease()) == 1
        await hand.engine.sweep()
        assert len(await data_of(hand, id_, "execution_activated")) == 1

    play(scene, max_hold=60.0)


def test_a_sleep_without_an_end_is_repaired(play):
    async def scene(hand: Hand):
        id_ = await hand.submit("name: s\nworkflow:\n  - {step: nap, type: sleep, for: 1h}\n")
        await hand.settle_down()
        await hand.sql("update tenax.item set timeout_at = null")
        await hand.engine.sweep()
        await hand.settle_down()
        assert await hand.status(id_) == "completed"
        assert (await data_of(hand, id_, "execution_activated")) == [{"reason": "it waited without an end"}]

    play(scene)


def test_what_is_as_it_should_be_is_left_alone(play):
    async def scene(hand: Hand):
        await hand.submit()
        await hand.submit("name: s\nworkflow:\n  - {step: nap, type: sleep, for: 1h}\n")
        await hand.submit("name: w\nworkflow:\n  - {step: ask, type: wait, signal: go}\n")
        await hand.settle_down()
        await hand.lease(slots=1)
        before = await hand.sql("select * from tenax.item order by id")
        await hand.engine.sweep()
        assert await hand.sql("select * from tenax.item order by id") == before

    play(scene)


# -- the leader


async def leads(hand: Hand) -> bool:
    await hand.look()
    return hand.engine.housekeeping.leadership.leads


def test_one_server_leads_until_it_does_not_renew_that(play):
    async def scene(first: Hand):
        second = await first.restarted()
        assert await leads(first)
        for _ in range(5):
            await first.clock.advance(3)
            assert [await leads(hand) for hand in (first, second)] == [True, False]
        await first.clock.advance(4)
        assert not await leads(second), "it was renewed four seconds ago"
        await first.clock.advance(0.5)
        assert await leads(second)
        assert not await leads(first)

    play(scene)


def test_a_leader_that_resigns_is_followed_at_once(play):
    async def scene(first: Hand):
        second = await first.restarted()
        assert [await leads(hand) for hand in (first, second)] == [True, False]
        await second.engine.housekeeping.leadership.resign()
        assert not await leads(second), "only the leader can"
        await first.engine.housekeeping.leadership.resign()
        assert [await leads(hand) for hand in (second, first)] == [True, False]

    play(scene)


def test_what_any_server_sees_of_a_worker_reaches_the_leader(play):
    async def scene(leader: Hand):
        other = await leader.restarted()
        await arrive(leader, "good", "bad")
        await leader.submit(PATIENT)
        await fail_often(other, "bad", 5)
        await fail_often(leader, "bad", 5)
        assert (await leader.engine.worker("bad"))["health"] == "unhealthy"
        await other.look()
        assert await other.lease("bad") == []
        assert [await leads(hand) for hand in (leader, other)] == [True, False]

    play(scene)
