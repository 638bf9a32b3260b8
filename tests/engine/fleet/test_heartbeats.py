"""Tests heartbeats of many workers at once, and a fleet without any problem."""

from __future__ import annotations

import asyncio
from datetime import datetime

import pytest
from support.fan_out_workflows import fan
from support.hand import Hand
from support.worker_lives import new_life

from tenax.engine.fleet.heartbeats import TURNS, Heartbeats, RecentWorkers
from tenax.engine.fleet.workers import heartbeat, heartbeats
from tenax.model.fleet.health import HealthReport
from tenax.model.wire import Assignment, Heartbeat, Held
from tenax.store.fleet.worker_health import is_fleet_sound
from tenax.store.transaction import transaction

CROWD = [f"w{n:02}" for n in range(TURNS + 5)]


async def crowd_on(hand: Hand) -> None:
    for name in CROWD:
        await hand.register(name)
    await hand.clock.advance(5)


async def heard_of(hand: Hand) -> dict[str, float]:
    rows = await hand.sql(
        "select name, extract(epoch from tenax.now() - last_heartbeat)::float as age from tenax.worker"
    )
    return {row["name"]: row["age"] for row in rows}


async def transactions(hand: Hand) -> int:
    """Counts the statements that have written a worker's row."""
    [row] = await hand.sql("select count(distinct xmin::text) as n from tenax.worker")
    return row["n"]


async def test_the_heartbeats_of_many_workers_are_one_transaction(hand):
    await crowd_on(hand)
    beats = [Heartbeat(name, health=HealthReport(queue_depth=n)) for n, name in enumerate(CROWD)]
    answers = await heartbeats(hand.engine.context, beats)
    assert all(answer.known and answer.state == "active" for answer in answers)
    assert set((await heard_of(hand)).values()) == {0.0}
    assert await transactions(hand) == 1
    told = await hand.sql("select (reported ->> 'queue_depth')::int as depth from tenax.worker order by name")
    assert [row["depth"] for row in told] == list(range(len(CROWD)))


async def test_each_of_many_hears_of_its_own_leases(hand):
    await hand.register("w1")
    await hand.register("w2")
    for _ in range(2):
        await hand.submit()
    mine, other = await hand.lease_one("w1", slots=1), await hand.lease_one("w2", slots=1)
    await hand.pass_time(20)
    gone = Held(other.item_id, mine.token)
    beats = [
        Heartbeat("w1", (Held(mine.item_id, mine.token), gone)),
        Heartbeat("w2", (Held(other.item_id, other.token),)),
        Heartbeat("w3"),
    ]
    first, *alone = await heartbeats(hand.engine.context, beats)
    assert alone == [None, None], "one names an item that another names too, one is not known"
    second, unknown = [await heartbeat(hand.engine.context, beat) for beat in beats[1:]]
    assert first.revoked == (gone,)
    assert second.revoked == ()
    assert not unknown.known
    await hand.pass_time(20)
    assert await hand.engine.reap() == 0, "both leases were extended"


async def test_an_earlier_life_among_many_is_told_and_changes_nothing(hand):
    earlier = new_life()
    await hand.register("w1", life=earlier)
    await hand.register("w1", life=new_life())
    await hand.register("w2")
    await hand.clock.advance(5)
    old, other = await heartbeats(hand.engine.context, [Heartbeat("w1", life=earlier), Heartbeat("w2")])
    assert old.superseded
    assert not other.superseded
    assert await heard_of(hand) == {"w1": 5.0, "w2": 0.0}


async def test_a_worker_that_leaves_stays_gone_whatever_else_it_said_before(hand):
    await crowd_on(hand)
    beat = Heartbeats(hand.engine.context)
    waiting = [asyncio.create_task(beat(Heartbeat(name))) for name in CROWD]
    await asyncio.sleep(0)
    last = asyncio.create_task(beat(Heartbeat(CROWD[-1], leaving=True)))
    await asyncio.wait_for(asyncio.gather(last, *waiting), 20)
    [row] = await hand.sql("select state from tenax.worker where name = $1", CROWD[-1])
    assert row["state"] == "gone"


def test_few_workers_wait_for_nobody_and_many_do():
    crowd = RecentWorkers(10)
    assert [crowd.count(name, 0.0) for name in ("a", "b", "a")] == [1, 2, 2]
    assert crowd.count("c", 10.0) == 2, "as many as before"
    assert crowd.count("c", 20.0) == 1
    assert crowd.count("a", 45.0) == 1, "what was long ago does not count"


@pytest.mark.parametrize(
    "against",
    [
        "health = 'degraded'",
        "health_column = 'queue_depth'",
        "probe_at = tenax.now()",
        "recovering_since = tenax.now()",
        "streak = 1",
        "state = 'draining', state_actor = 'tenax:server'",
        "last_heartbeat = tenax.now() - interval '30 s'",
        """reported = '{"status": "degraded"}'""",
        """reported = '{"status": "healthy", "queue_depth": 2}'""",
    ],
)
async def test_whoever_has_anything_against_it_is_judged(hand, against):
    await crowd_on(hand)
    assert await is_sound(hand)
    await hand.sql(f"update tenax.worker set {against} where name = 'w01'")
    assert not await is_sound(hand)


@pytest.mark.parametrize(
    "against",
    [
        "insert into tenax.worker_loss values ('w01', tenax.now(), tenax.now(), '{1}')",
        "insert into tenax.worker_window values ('w01', tenax.now(), 1, 1)",
    ],
)
async def test_so_is_whoever_has_lost_work_or_failed(hand, against):
    await crowd_on(hand)
    await hand.sql(against)
    assert not await is_sound(hand)


async def test_so_is_whoever_has_more_than_its_slots(hand):
    await hand.register("w1", slots=1)
    for _ in range(2):
        await hand.submit()
    await hand.lease("w1", slots=1)
    assert await is_sound(hand)
    await hand.lease("w1", slots=1)
    assert not await is_sound(hand)


async def is_sound(hand: Hand) -> bool:
    async with transaction(hand.engine.context.database) as tx:
        return await is_fleet_sound(tx, 30.0, 30.0, 300.0)


async def two_leases_of_one_item(hand: Hand) -> tuple[Held, Held]:
    """The first has run out, the second is current; the same worker has both."""
    await hand.register("w1")
    _, first = await hand.start()
    await hand.wait(30)
    await hand.pass_time(5)
    second = await hand.lease_one()
    assert second.item_id == first.item_id
    return Held(first.item_id, first.token), Held(second.item_id, second.token)


async def test_a_heartbeat_that_names_two_leases_of_one_item_hears_which_one_is_revoked(hand):
    old, current = await two_leases_of_one_item(hand)
    beat = Heartbeat("w1", (old, current))
    assert (await heartbeat(hand.engine.context, beat)).revoked == (old,)
    await hand.register("w2")
    [answer, _] = await heartbeats(hand.engine.context, [beat, Heartbeat("w2")])
    assert answer.revoked == (old,)


async def lease_ends(hand: Hand, a: Assignment) -> datetime:
    [row] = await hand.sql("select expires_at from tenax.item where id = $1", a.item_id)
    return row["expires_at"]


async def test_a_heartbeat_waits_for_nobody_and_gives_up_nothing_that_is_being_decided_on(hand):
    await hand.submit(fan([0, 1, 2], parallelism=3))
    leased = await hand.lease()
    locked, free, gone = leased
    before = await lease_ends(hand, locked)
    await hand.clock.advance(10)
    await hand.succeed(gone)
    async with transaction(hand.engine.context.database) as rival:
        await rival.execute("select from tenax.item where id = $1 for update", locked.item_id)
        async with asyncio.timeout(10):
            answer = await hand.beat(*leased)
    assert [held.item_id for held in answer.revoked] == [gone.item_id]
    assert await lease_ends(hand, locked) == before
    assert await lease_ends(hand, free) > before
    assert (await hand.beat(locked, free)).revoked == ()
    assert await lease_ends(hand, locked) > before


async def test_a_worker_whose_row_someone_holds_keeps_no_heartbeat_of_others_waiting(hand):
    names = [f"w{n:02}" for n in range(TURNS + 5)]
    for name in names:
        await hand.register(name)
        await hand.engine.heartbeat(Heartbeat(name))
    async with hand.engine.context.transaction() as tx:
        await tx.fetch("select from tenax.worker where name = 'w03' for update")
        held = asyncio.create_task(hand.engine.heartbeat(Heartbeat("w03")))
        others = [hand.engine.heartbeat(Heartbeat(name)) for name in names if name != "w03"]
        assert all(answer.known for answer in await asyncio.gather(*others))
        assert not held.done()
    assert (await held).known
