"""An execution that is submitted to start later waits, and its times count from its start."""

from __future__ import annotations

from datetime import timedelta

import pytest
from support.hand import ONE_STEP, Hand, one_postgres
from support.laws import verify

from tenax.errors import UsageError
from tenax.store.for_tests.fake_clock import next_time
from tenax.store.transaction import transaction

pytestmark = one_postgres

TIMED = """
name: timed
deadline: 1h
workflow:
  - {step: a, type: python, task: "t:t", retry: {max_attempts: 9, give_up_after: 10m, backoff: fixed, initial_delay: 1m, jitter: 0}}
"""


async def pass_to_start(hand: Hand, seconds: float) -> None:
    await hand.clock.pass_to(await hand.clock.now() + timedelta(seconds=seconds))
    await hand.engine.timers.tick()


async def test_nothing_of_a_delayed_execution_starts_before_its_time(hand):
    later = await hand.submit(start_in=3600.0)
    assert await hand.lease() == []
    assert await hand.status(later) == "paused"
    await pass_to_start(hand, 3599)
    assert await hand.lease() == []
    await pass_to_start(hand, 1)
    leased = await hand.lease_one()
    assert leased.execution_id == later
    await hand.succeed(leased)
    assert await hand.status(later) == "completed"
    assert (await hand.types(later))[:5] == [
        "execution_started",
        "step_enqueued",
        "operator_action",
        "execution_paused",
        "operator_action",
    ]
    assert (await verify(hand))["violations"] == []
    assert await hand.engine.audit() == [], "no person has paused or resumed it"


async def test_it_starts_at_a_time_and_a_time_in_the_past_is_now(hand):
    now = await hand.clock.now()
    later = await hand.submit(start_at=now + timedelta(minutes=5))
    past = await hand.submit(start_at=now - timedelta(minutes=5))
    assert (await hand.lease_one()).execution_id == past
    async with transaction(hand.engine.context.database) as tx:
        await hand.clock.advance(0)
        assert await next_time(tx) is None, "a lease is underway"
    await pass_to_start(hand, 300)
    assert later in [one.execution_id for one in await hand.lease()]


async def test_a_time_skip_goes_to_the_start(hand):
    now = await hand.clock.now()
    await hand.submit(start_at=now + timedelta(days=3))
    async with transaction(hand.engine.context.database) as tx:
        assert await next_time(tx) == now + timedelta(days=3)


async def test_its_deadline_and_its_retries_count_from_the_start(hand):
    later = await hand.submit(TIMED, start_in=7200.0)
    await pass_to_start(hand, 7200)
    await hand.fail(await hand.lease_one())
    assert await hand.status(later) == "running", "the two hours before are not in `give_up_after`"
    [row] = await hand.sql("select deadline_at - tenax.now() as left from tenax.execution")
    assert row["left"] == timedelta(hours=1)


async def test_it_can_be_cancelled_before_its_start(hand):
    later = await hand.submit(start_in=60.0)
    assert await hand.engine.cancel(later, actor="ann")
    await pass_to_start(hand, 60)
    assert await hand.status(later) == "cancelled"
    assert await hand.sql("select from tenax.delayed_start") == []


async def test_a_person_may_start_it_earlier(hand):
    later = await hand.submit(start_in=3600.0)
    await hand.engine.resume(later, actor="ann")
    assert (await hand.lease_one()).execution_id == later
    assert await hand.sql("select from tenax.delayed_start") == []


async def test_it_waits_on_if_its_workflow_is_paused_at_its_start(hand):
    later = await hand.submit(start_in=60.0)
    await hand.engine.pause_workflow("one", actor="ann")
    await pass_to_start(hand, 60)
    assert await hand.lease() == []
    await hand.engine.resume_workflow("one", actor="ann")
    while await hand.engine.workflow_pauses.work():
        pass
    assert (await hand.lease_one()).execution_id == later


async def test_a_workflow_that_goes_on_before_does_not_start_it(hand):
    await hand.submit()
    await hand.engine.pause_workflow("one", actor="ann")
    await hand.submit(start_in=60.0)
    await hand.engine.resume_workflow("one", actor="ann")
    while await hand.engine.workflow_pauses.work():
        pass
    assert len(await hand.lease()) == 1


async def test_a_key_is_one_execution_however_it_starts(hand):
    first = await hand.submit(key="k", start_in=60.0)
    assert await hand.submit(key="k") == first
    assert await hand.lease() == []


async def test_a_submission_has_one_start(hand):
    with pytest.raises(UsageError, match="exclude each other"):
        await hand.submit(ONE_STEP, start_in=60.0, start_at=await hand.clock.now())
