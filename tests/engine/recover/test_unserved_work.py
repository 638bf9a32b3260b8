"""Tests that nothing is ever stuck: items that no worker is able to run, items that nothing would wake, and the leader that looks for them."""

from __future__ import annotations

import pytest
from support.child_workflows import begun
from support.fan_out_workflows import fan
from support.hand import EXHAUSTED, ONE_STEP, Hand
from support.worker_lives import PATIENT, arrive, crash_often, fail_often, live, take

from tenax.engine.recover.unserved_work import KEYS_AT_ONCE
from tenax.model.fleet.health import HealthReport
from tenax.model.wire import Assignment


async def unserved(hand: Hand, id_: int, step: str = "only") -> dict | None:
    return (await hand.get(id_))["steps"][step]["unserved"]


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
async def test_work_that_nobody_is_able_to_run_says_so_at_once(hand, worker, keys, why):
    if worker is not None:
        await arrive(hand, "w1", **worker)
    id_ = await hand.submit(ONE_STEP.replace("retry:", f"{keys}\n    retry:"))
    labels = {"zone": "b"} if keys else {}
    assert await unserved(hand, id_) == {
        "reason": why,
        "since": (await hand.get(id_))["created_at"],
        "queue": "default",
        "labels": labels,
        "idle": [],
    }
    await arrive(hand, "able", labels=labels)
    assert await unserved(hand, id_) is None
    await live(hand, 30)
    assert (await unserved(hand, id_))["reason"] == "no worker is live"


async def test_work_whose_able_workers_take_none_says_so(hand):
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


async def test_only_work_that_is_due_is_unserved(hand):
    id_, running = await hand.start()
    assert await unserved(hand, id_) is None, "it runs"
    await hand.fail(running)
    assert await unserved(hand, id_) is None, "its retry is not due yet"
    await hand.clock.advance(1)
    assert (await unserved(hand, id_))["reason"] == "no worker is live"
    await hand.engine.pause(id_, actor="ann")
    assert await unserved(hand, id_) is None, "it is paused"


async def test_work_waits_for_ever_for_a_worker_by_default(hand):
    id_ = await hand.submit()
    await live(hand, 3600)
    assert await hand.types(id_) == ["execution_started", "step_enqueued"]


@pytest.mark.settings(worker_wait=60.0)
async def test_work_that_no_worker_is_able_to_run_for_too_long_fails_as_any_other(hand):
    await arrive(hand, "w1", queues=("mail",))
    id_ = await hand.submit(ONE_STEP.replace("jitter: 0}", "jitter: 0, infra_attempts: 0}"))
    await live(hand, 59, "w1")
    assert (await hand.types(id_))[-1] == "step_enqueued"
    await live(hand, 1, "w1")
    assert (await hand.types(id_))[2:] == ["queue_expired", "step_retry"]
    [expired] = await hand.data_of(id_, "queue_expired")
    assert expired["failure"]["class"] == "worker_unavailable"
    assert expired["failure"]["reason"] == "worker_wait_expired"
    [retry] = await hand.data_of(id_, "step_retry")
    assert (retry["attempt"], retry["max_attempts"], retry["delay_seconds"]) == (1, 3, 1.0)
    await live(hand, 70, "w1")
    await live(hand, 70, "w1")
    assert (await hand.types(id_))[4:] == ["queue_expired", "step_retry", "queue_expired", *EXHAUSTED]
    assert (await hand.get(id_))["failure"]["class"] == "worker_unavailable"


@pytest.mark.settings(worker_wait=60.0)
async def test_the_next_attempt_of_what_no_worker_took_has_the_next_number(hand):
    await hand.submit()
    await live(hand, 60)
    await live(hand, 1)
    await arrive(hand, "w1")
    assert (await take(hand, "w1")).attempt == 2


@pytest.mark.settings(worker_wait=60.0)
async def test_a_worker_that_was_there_until_lately_is_waited_for(hand):
    await arrive(hand, "w1")
    await live(hand, 40, "w1")
    id_ = await hand.submit()
    await live(hand, 59)
    assert (await hand.types(id_))[-1] == "step_enqueued"
    await live(hand, 1)
    assert (await hand.types(id_))[-1] == "step_retry"


@pytest.mark.settings(worker_wait=60.0)
async def test_a_paused_worker_is_there_and_one_that_drains_is_not(hand):
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


@pytest.mark.settings(worker_wait=60.0)
async def test_an_unhealthy_worker_is_there_for_it_may_recover(hand):
    await arrive(hand, "w1")
    await hand.beat(worker="w1", health=HealthReport(status="unhealthy"))
    id_ = await hand.submit()
    await live(hand, 120, "w1")
    assert "w1 is unhealthy" in (await unserved(hand, id_))["reason"]
    assert (await hand.types(id_))[-1] == "step_enqueued"


@pytest.mark.settings(worker_wait=60.0)
async def test_unserved_items_of_a_fan_out_fail_one_by_one(hand):
    id_ = await hand.submit(fan([1, 2, 3], parallelism=2, tolerate=3))
    await live(hand, 60)
    await live(hand, 60)
    assert await hand.status(id_) == "completed"
    failed = await hand.events_of(id_, "item_failed")
    assert sorted(e["item"] for e in failed) == [0, 1, 2]
    assert {e["data"]["failure"]["class"] for e in failed} == {"worker_unavailable"}


@pytest.mark.settings(worker_wait=60.0)
async def test_what_nobody_is_able_to_run_is_looked_for_every_ten_seconds(hand):
    await hand.look()
    await hand.clock.advance(5)
    id_ = await hand.submit()
    await live(hand, 5)
    await live(hand, 50)
    await hand.clock.advance(6)
    await hand.look()
    assert (await hand.types(id_))[-1] == "step_enqueued", "its time is over, but it was looked for 6 s ago"
    await hand.clock.advance(4)
    await hand.look()
    assert (await hand.types(id_))[-1] == "step_retry"


@pytest.mark.settings(worker_wait=60.0)
async def test_one_that_cannot_be_decided_on_keeps_no_other_back(hand):
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


# -- what every worker refuses


async def refuse(hand: Hand, a: Assignment) -> None:
    await hand.hand_back(a, reason="no_handler", detail="no")
    await hand.engine.sweep()


async def test_a_paused_worker_may_yet_run_what_others_refuse(hand):
    await arrive(hand, "w1", "w2")
    await hand.engine.pause_worker("w2", actor="ann")
    await hand.look()
    id_ = await hand.submit()
    await refuse(hand, await take(hand, "w1"))
    assert await hand.status(id_) == "running"
    await hand.engine.resume_worker("w2", actor="ann")
    await hand.look()
    assert len(await hand.lease("w2")) == 1


async def test_a_worker_that_the_server_drained_may_yet_run_what_others_refuse(hand):
    await arrive(hand, "good", "bad")
    await crash_often(hand, "bad")
    assert (await hand.engine.worker("bad")).state == "draining"
    id_ = await hand.submit()
    await refuse(hand, await take(hand, "good"))
    assert await hand.status(id_) == "running"


async def test_a_worker_that_is_drained_by_a_person_is_not_waited_for(hand):
    await arrive(hand, "w1", "w2")
    await hand.engine.drain_worker("w2", actor="ann")
    await hand.look()
    id_ = await hand.submit()
    await refuse(hand, await take(hand, "w1"))
    assert await hand.status(id_) == "failed"


# -- workers of one execution (`tenax run`)

PARENT = "name: parent\nworkflow: [{step: child, type: workflow, workflow: one}]\n"


async def a_family(hand: Hand) -> tuple[int, int]:
    """An execution, and its child, that has work in a queue of its own."""
    await hand.engine.store_workflow(ONE_STEP.replace("retry:", "queue: far\n    retry:"))
    parent = await begun(hand, PARENT)
    [row] = await hand.sql("select id from tenax.execution where parent_id = $1", parent)
    return parent, row["id"]


@pytest.mark.settings(worker_wait=60.0)
async def test_a_worker_of_one_execution_is_there_for_that_and_its_children(hand):
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


async def test_what_the_fleet_refuses_does_not_wait_for_the_worker_of_another_execution(hand):
    mine = await hand.submit()
    await arrive(hand, "own", execution_id=mine)
    await arrive(hand, "w1")
    assert len(await hand.lease("own", slots=1, execution_id=mine)) == 1
    other = await hand.submit()
    await refuse(hand, await take(hand, "w1"))
    assert await hand.status(other) == "failed"


async def test_what_the_fleet_refuses_waits_for_the_worker_of_its_own_execution(hand):
    parent, child = await a_family(hand)
    await arrive(hand, "own", execution_id=parent)
    await arrive(hand, "w1", queues=("far",))
    await refuse(hand, await hand.lease_one("w1", queues=("far",)))
    assert await hand.status(child) == "running"
    await refuse(hand, await hand.lease_one("own", execution_id=parent))
    assert await hand.status(child) == "failed"


# -- limits under which there is room

COLUMNS = "execution_id, plan_id, step, state, queue, runtime, priority, available_at, created_at, max_attempts, timeout"


async def block(hand: Hand, count: int, *, action: str | None = None) -> None:
    """As many items, each with a key of its own, and perhaps all of one action, that runs once at most."""
    await hand.sql(
        f"insert into tenax.item ({COLUMNS}, limits, stopped_by) "
        f"select {COLUMNS}, row($1::text, case when $1 is not null then 1 end, 'key' || n, 1)::tenax.limits, 'limit' "
        "  from tenax.item cross join generate_series(1, $2::integer) n",
        action,
        count,
    )


async def count_blocked(hand: Hand) -> int:
    return (await hand.sql("select count(*) from tenax.item where standing = 'blocked'"))[0][0]


async def test_keys_are_looked_at_some_at_a_time_and_none_is_left_out(hand):
    await hand.submit()
    await block(hand, 2 * KEYS_AT_ONCE + 1)
    left = []
    for _ in range(3):
        await hand.look()
        left.append(await count_blocked(hand))
    assert left == [KEYS_AT_ONCE + 1, 1, 0]
    await hand.sql("update tenax.item set stopped_by = 'limit' where (limits).key = 'key1'")
    await hand.look()
    assert await count_blocked(hand) == 0, "it begins anew"


async def test_what_waits_at_a_full_limit_is_not_touched(hand):
    await hand.submit()
    await block(hand, 20, action="act")
    await hand.sql(
        "update tenax.item set limits = row('act', 1, null, null)::tenax.limits where stopped_by is null"
    )
    running = await hand.lease_one()
    await hand.look()
    rows = await hand.sql("select xmax::text as touched from tenax.item where standing = 'blocked'")
    assert [row["touched"] for row in rows] == ["0"] * 20
    await hand.sql("update tenax.item set limits = null where id = $1", running.item_id)
    await hand.look()
    assert await count_blocked(hand) < 20, "there is room now"


async def test_what_is_as_it_should_be_is_left_alone(hand):
    await hand.submit()
    await hand.submit("name: s\nworkflow:\n  - {step: nap, type: sleep, for: 1h}\n")
    await begun(hand, "name: w\nworkflow:\n  - {step: ask, type: wait, signal: go}\n")
    await hand.lease(slots=1)
    before = await hand.sql("select * from tenax.item order by id")
    await hand.engine.sweep()
    assert await hand.sql("select * from tenax.item order by id") == before


# -- the leader


async def leads(hand: Hand) -> bool:
    await hand.look()
    return hand.engine.maintenance.leadership.leads


async def test_one_server_leads_until_it_does_not_renew_that(hand):
    second = await hand.restarted()
    assert await leads(hand)
    for _ in range(5):
        await hand.clock.advance(3)
        assert [await leads(one) for one in (hand, second)] == [True, False]
    await hand.clock.advance(4)
    assert not await leads(second), "it was renewed four seconds ago"
    await hand.clock.advance(0.5)
    assert await leads(second)
    assert not await leads(hand)


async def test_a_leader_that_resigns_is_followed_at_once(hand):
    second = await hand.restarted()
    assert [await leads(one) for one in (hand, second)] == [True, False]
    await second.engine.maintenance.leadership.resign()
    assert not await leads(second), "only the leader can"
    await hand.engine.maintenance.leadership.resign()
    assert [await leads(one) for one in (second, hand)] == [True, False]


async def test_what_any_server_sees_of_a_worker_reaches_the_leader(hand):
    other = await hand.restarted()
    await arrive(hand, "good", "bad")
    await hand.submit(PATIENT)
    await fail_often(other, "bad", 5)
    await fail_often(hand, "bad", 5)
    assert (await hand.engine.worker("bad")).health == "unhealthy"
    await other.look()
    assert await other.lease("bad") == []
    assert [await leads(one) for one in (hand, other)] == [True, False]
