"""Nothing is ever stuck: what nobody is able to run, what nothing would wake; and the one server that looks after it."""

from __future__ import annotations

import pytest
from fans import fan
from hand import ONE_STEP, Hand
from undoing import data_of
from workforce import PATIENT, arrive, crash, fail_often, live, take

from tenax.engine.nets import KEYS_AT_ONCE
from tenax.model.health import HealthReport
from tenax.model.wire import Assignment, Release


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
            "idle": [],
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
        id_ = await hand.submit(ONE_STEP.replace("jitter: 0}", "jitter: 0, infra_attempts: 0}"))
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


def test_what_nobody_is_able_to_run_is_looked_for_every_ten_seconds(play):
    async def scene(hand: Hand):
        await hand.look()
        await hand.clock.advance(5)
        id_ = await hand.submit()
        await live(hand, 5)
        await live(hand, 50)
        await hand.clock.advance(6)
        await hand.look()
        assert (await hand.types(id_))[-1] == "step_enqueued", (
            "its time is over, but it was looked for 6 s ago"
        )
        await hand.clock.advance(4)
        await hand.look()
        assert (await hand.types(id_))[-1] == "step_retry"

    play(scene, worker_wait=60.0)


def test_one_that_cannot_be_decided_on_keeps_no_other_back(play):
    async def scene(hand: Hand):
        broken = await hand.submit()
        sound = await hand.submit(ONE_STEP.replace("name: one", "name: two"))
        await hand.sql(
            """update tenax.workflow set body = jsonb_set(body, '{steps,0,when}', '"))("') where name = 'one'"""
        )
        hand = await hand.restarted()
        await live(hand, 70)
        assert (await hand.types(sound))[-1] == "step_retry"
        assert (await hand.sql("select attempt from tenax.item where execution_id = $1", broken))[0][0] == 0
        await hand.look()

    play(scene, worker_wait=60.0)


# -- what every worker refuses


async def refuse(hand: Hand, a: Assignment) -> None:
    await hand.engine.release([Release(a.execution_id, a.item_id, a.attempt, a.token, "no_handler", "no")])
    await hand.engine.sweep()


def test_a_paused_worker_may_yet_run_what_others_refuse(play):
    async def scene(hand: Hand):
        await arrive(hand, "w1", "w2")
        await hand.engine.pause_worker("w2", actor="ann")
        await hand.look()
        id_ = await hand.submit()
        await refuse(hand, await take(hand, "w1"))
        assert await hand.status(id_) == "running"
        await hand.engine.resume_worker("w2", actor="ann")
        await hand.look()
        assert len(await hand.lease("w2")) == 1

    play(scene)


def test_a_worker_that_the_server_drained_may_yet_run_what_others_refuse(play):
    async def scene(hand: Hand):
        await arrive(hand, "good", "bad")
        for _ in range(5):
            await hand.submit(PATIENT)
            await crash(hand, "bad")
        assert (await hand.engine.worker("bad")).state == "draining"
        id_ = await hand.submit()
        await refuse(hand, await take(hand, "good"))
        assert await hand.status(id_) == "running"

    play(scene)


def test_a_worker_that_is_drained_by_a_person_is_not_waited_for(play):
    async def scene(hand: Hand):
        await arrive(hand, "w1", "w2")
        await hand.engine.drain_worker("w2", actor="ann")
        await hand.look()
        id_ = await hand.submit()
        await refuse(hand, await take(hand, "w1"))
        assert await hand.status(id_) == "failed"

    play(scene)


# -- workers of one execution (`tenax run`)

PARENT = "name: parent\nworkflow: [{step: child, type: workflow, workflow: one}]\n"


async def a_family(hand: Hand) -> tuple[int, int]:
    """An execution, and its child, that has work in a queue of its own."""
    await hand.engine.store_workflow(ONE_STEP.replace("retry:", "queue: far\n    retry:"))
    parent = await hand.submit(PARENT)
    await hand.settle_down()
    [row] = await hand.sql("select id from tenax.execution where parent_id = $1", parent)
    return parent, row["id"]


def test_a_worker_of_one_execution_is_there_for_that_and_its_children(play):
    async def scene(hand: Hand):
        parent, child = await a_family(hand)
        other = await hand.submit()
        await arrive(hand, "own", execution_id=parent)
        assert await unserved(hand, child) is None, "whatever its queue"
        assert (await unserved(hand, other))["reason"] == "no worker is live"
        assert (await hand.engine.worker("own")).serves == parent
        await live(hand, 70, "own")
        assert (await hand.types(child))[-1] == "step_enqueued"
        assert "queue_expired" in await hand.types(other)
        await hand.beat(worker="own", leaving=True)
        assert (await unserved(hand, child))["reason"] == "no worker is live"
        await live(hand, 70)
        assert "queue_expired" in await hand.types(child)

    play(scene, worker_wait=60.0)


def test_what_the_fleet_refuses_does_not_wait_for_the_worker_of_another_execution(play):
    async def scene(hand: Hand):
        mine = await hand.submit()
        await arrive(hand, "own", execution_id=mine)
        await arrive(hand, "w1")
        assert len(await hand.lease("own", slots=1, execution_id=mine)) == 1
        other = await hand.submit()
        await refuse(hand, await take(hand, "w1"))
        assert await hand.status(other) == "failed"

    play(scene)


def test_what_the_fleet_refuses_waits_for_the_worker_of_its_own_execution(play):
    async def scene(hand: Hand):
        parent, child = await a_family(hand)
        await arrive(hand, "own", execution_id=parent)
        await arrive(hand, "w1", queues=("far",))
        await refuse(hand, await hand.lease_one("w1", queues=("far",)))
        assert await hand.status(child) == "running"
        await refuse(hand, await hand.lease_one("own", execution_id=parent))
        assert await hand.status(child) == "failed"

    play(scene)


# -- limits under which there is room

COLUMNS = "execution_id, plan_id, step, state, queue, runtime, priority, available_at, created_at, max_attempts, timeout"


async def block(hand: Hand, count: int, *, action: str | None = None) -> None:
    """As many items, each with a key of its own, and perhaps all of one action, that runs once at most."""
    await hand.sql(
        f"insert into tenax.item ({COLUMNS}, action_gate, action_most, key_gate, key_most, blocked) "
        f"select {COLUMNS}, $1::text, case when $1 is not null then 1 end, 'key' || n, 1, true "
        "  from tenax.item cross join generate_series(1, $2::integer) n",
        action,
        count,
    )


async def count_blocked(hand: Hand) -> int:
    return (await hand.sql("select count(*) from tenax.item where blocked"))[0][0]


def test_keys_are_looked_at_some_at_a_time_and_none_is_left_out(play):
    async def scene(hand: Hand):
        await hand.submit()
        await block(hand, 2 * KEYS_AT_ONCE + 1)
        left = []
        for _ in range(3):
            await hand.look()
            left.append(await count_blocked(hand))
        assert left == [KEYS_AT_ONCE + 1, 1, 0]
        await hand.sql("update tenax.item set blocked = true where key_gate = 'key1'")
        await hand.look()
        assert await count_blocked(hand) == 0, "it begins anew"

    play(scene)


def test_what_waits_at_a_full_limit_is_not_touched(play):
    async def scene(hand: Hand):
        await hand.submit()
        await block(hand, 20, action="act")
        await hand.sql("update tenax.item set action_gate = 'act', action_most = 1 where not blocked")
        running = await hand.lease_one()
        await hand.look()
        rows = await hand.sql("select xmax::text as touched from tenax.item where blocked")
        assert [row["touched"] for row in rows] == ["0"] * 20
        await hand.sql("update tenax.item set action_gate = null where id = $1", running.item_id)
        await hand.look()
        assert await count_blocked(hand) < 20, "there is room now"

    play(scene)


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
        assert (await leader.engine.worker("bad")).health == "unhealthy"
        await other.look()
        assert await other.lease("bad") == []
        assert [await leads(hand) for hand in (leader, other)] == [True, False]

    play(scene)
