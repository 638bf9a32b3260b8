"""Sets the clock of PostgreSQL forward by an hour and back again. Nothing waits for the hour to pass."""

from __future__ import annotations

import pytest
from support.hand import Hand
from support.laws import laws_broken
from support.worker_lives import PATIENT, arrive, health, live

HOUR = 3600.0


async def move(hand: Hand, seconds: float) -> None:
    """Sets the clock, also back."""
    await hand.sql("update tenax.fake_clock set at = at + make_interval(secs => $1)", seconds)


async def test_a_worker_that_is_killed_is_noticed_within_one_lease(hand):
    id_, a = await hand.start()
    await move(hand, HOUR)
    await hand.engine.beat()
    await hand.beat(a)
    await move(hand, -HOUR)
    await hand.engine.beat()
    await hand.wait(30)
    assert (await hand.types(id_))[-2:] == ["lease_expired", "step_retry"]
    assert await laws_broken(hand) == set()


async def test_so_is_one_that_got_its_work_by_the_wrong_clock(hand):
    await move(hand, HOUR)
    await hand.engine.beat()
    id_, _ = await hand.start()
    await move(hand, -HOUR)
    await hand.engine.beat()
    assert await laws_broken(hand) == set()
    await hand.wait(30)
    assert (await hand.types(id_))[-2:] == ["lease_expired", "step_retry"]


async def test_a_timeout_counts_from_the_clock_as_it_is(hand):
    await move(hand, HOUR)
    await hand.engine.beat()
    id_, a = await hand.start(PATIENT.replace("retry:", "timeout: 60s\n    retry:"))
    await move(hand, -HOUR)
    await live(hand, 80, "w1", holding=(a,))
    [failed] = await hand.events_of(id_, "action_error")
    assert failed["data"]["failure"]["class"] == "timeout"


async def test_there_is_a_leader_within_its_normal_time(hand):
    await hand.look()
    await move(hand, HOUR)
    await hand.look()
    await move(hand, -HOUR)
    other = await hand.restarted()
    assert not other.engine.maintenance.leadership.leads
    await other.look()
    assert other.engine.maintenance.leadership.leads


async def test_a_leader_keeps_its_lead_while_the_clock_goes_on(hand):
    await hand.look()
    other = await hand.restarted()
    for _ in range(5):
        await hand.clock.advance(1)
        await hand.look()
        await other.look()
    assert (
        hand.engine.maintenance.leadership.leads,
        other.engine.maintenance.leadership.leads,
    ) == (True, False)


async def test_what_was_submitted_by_the_wrong_clock_is_leased_at_once(hand):
    await move(hand, HOUR)
    await hand.engine.beat()
    id_ = await hand.submit()
    await move(hand, -HOUR)
    await hand.engine.beat()
    assert await laws_broken(hand) == set()
    await hand.succeed(await hand.lease_one())
    assert await hand.status(id_) == "completed"
    assert await laws_broken(hand) == set()


async def test_a_rate_goes_on(hand):
    await hand.engine.limit_queue("default", concurrency=None, rate=1.0, burst=1, actor="ann")
    for _ in range(3):
        await hand.submit()
    assert len(await hand.lease()) == 1
    await move(hand, HOUR)
    await hand.engine.beat()
    assert len(await hand.lease()) == 1
    await move(hand, -HOUR)
    await hand.engine.beat()
    await hand.wait(1)
    assert len(await hand.lease()) == 1


async def test_a_silent_worker_is_unhealthy_within_its_silence(hand):
    await arrive(hand, "w1", "w2")
    await move(hand, HOUR)
    await live(hand, 10, "w1", "w2")
    await move(hand, -HOUR)
    await live(hand, 50, "w1")
    assert await health(hand, "w1") == ("healthy", None)
    assert await health(hand, "w2") == ("unhealthy", "heartbeat_age")


@pytest.mark.settings(worker_wait=60.0)
async def test_work_that_nobody_runs_is_given_up_in_its_time(hand):
    await move(hand, HOUR)
    await hand.engine.beat()
    await hand.look()
    await move(hand, -HOUR)
    await hand.engine.beat()
    id_ = await hand.submit()
    await live(hand, 110)
    assert (await hand.types(id_))[-1] == "step_retry"


async def test_a_probe_waits_no_longer_than_it_should(hand):
    await arrive(hand, "w1", "w2")
    await hand.submit(PATIENT)
    await move(hand, HOUR)
    await live(hand, 10, "w1", "w2")
    await hand.sql("update tenax.worker set health = 'unhealthy', probe_at = tenax.now() where name = 'w1'")
    await move(hand, -HOUR)
    await hand.engine.beat()
    [row] = await hand.sql(
        "select extract(epoch from probe_at - tenax.now()) as wait from tenax.worker where name = 'w1'"
    )
    assert row["wait"] == 60
