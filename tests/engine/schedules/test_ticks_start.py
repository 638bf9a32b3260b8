"""Schedules start executions: each tick once, and what is late, overlaps or fails as declared."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from support.hand import Hand, one_postgres
from support.laws import verify

from tenax.errors import Conflict, InvalidDefinition, NotFound, UsageError
from tenax.store.for_tests.fake_clock import next_time
from tenax.store.transaction import transaction

pytestmark = one_postgres

WORK = 'name: nightly\nworkflow: [{step: a, type: python, task: "t:t", retry: false}]\n'
HOURLY = {"cron": "0 * * * *"}


def with_schedule(**schedule: Any) -> str:
    written = ", ".join(f"{key}: {value!r}" for key, value in schedule.items())
    return f"{WORK}schedule: {{{written}}}\n"


async def begin(hand: Hand) -> datetime:
    """Sets the clock to half past some hour of the future, and returns the next full hour."""
    now = await hand.clock.now()
    hour = datetime(now.year + 1, 6, 1, 10, tzinfo=UTC)
    await hand.clock.pass_to(hour - timedelta(minutes=30))
    return hour


async def store(hand: Hand, **schedule: Any) -> None:
    await hand.engine.store_workflow(with_schedule(**schedule), actor="ann")


async def come_to(hand: Hand, at: datetime) -> int:
    """Lets a server live until this time and look at what is due."""
    await hand.clock.pass_to(at)
    return await hand.engine.schedule_runner.start_due()


async def runs(hand: Hand, name: str = "nightly") -> list[tuple[str, Any]]:
    """Returns what the schedule did, the oldest first."""
    shown = await hand.engine.schedules.get(name)
    return [(run.kind, run.reason) for run in reversed(shown.runs)]


async def started(hand: Hand) -> list[int]:
    return [row["id"] for row in await hand.sql("select id from tenax.execution order by id")]


async def fail_next(hand: Hand) -> None:
    await hand.fail(await hand.lease_one(), status_code=404, message="gone")


async def test_a_stored_workflow_starts_at_each_tick_and_not_between(hand):
    hour = await begin(hand)
    await store(hand, **HOURLY)
    assert await come_to(hand, hour - timedelta(seconds=1)) == 0
    assert await started(hand) == []
    assert await come_to(hand, hour) == 1
    [first] = await started(hand)
    await hand.succeed(await hand.lease_one())
    assert await come_to(hand, hour + timedelta(minutes=59)) == 0
    await come_to(hand, hour + timedelta(hours=1))
    _, second = await started(hand)
    keys = [row["submit_key"] for row in await hand.sql("select submit_key from tenax.execution order by id")]
    assert keys[0] == f"tenax:schedule:nightly:{hour.isoformat().replace('+00:00', 'Z')}"
    shown = await hand.engine.schedules.get("nightly")
    assert (shown.last_execution, shown.last_status, shown.declared) == (second, "running", True)
    assert [run.execution_id for run in shown.runs] == [second, first]
    assert await runs(hand) == [("started", "tick")] * 2
    assert (await verify(hand))["violations"] == []


async def test_the_input_of_a_schedule_is_that_of_its_executions(hand):
    hour = await begin(hand)
    source = WORK + 'input: {day: {type: string}}\nschedule: {every: 1h, input: {day: "monday"}}\n'
    await hand.engine.store_workflow(source, actor="ann")
    await come_to(hand, hour)
    [one] = await started(hand)
    assert (await hand.get(one))["input"] == {"day": "monday"}


async def test_a_submission_of_the_file_runs_once_and_makes_no_schedule(hand):
    hour = await begin(hand)
    await hand.submit(with_schedule(**HOURLY))
    await come_to(hand, hour)
    assert len(await started(hand)) == 1
    assert await hand.engine.schedules.list() == []


async def test_ticks_are_not_lost_while_no_server_runs(hand):
    hour = await begin(hand)
    await store(hand, **HOURLY)
    await come_to(hand, hour + timedelta(hours=2, minutes=30))
    assert len(await started(hand)) == 1, "by default the newest missed tick is made up for"
    shown = await hand.engine.schedules.get("nightly")
    skipped, made_up = reversed(shown.runs)
    assert (skipped.kind, skipped.reason) == ("skipped", "missed")
    assert [skipped.tick[11:16], skipped.until[11:16], made_up.tick[11:16]] == ["10:00", "11:00", "12:00"]
    assert made_up.reason == "caught_up"


async def test_three_missed_ticks_are_made_up_for_one_after_the_other(hand):
    hour = await begin(hand)
    await store(hand, **HOURLY, catch_up=3)
    await come_to(hand, hour + timedelta(hours=2, minutes=30))
    for number in (1, 2, 3):
        assert len(await started(hand)) == number
        await hand.succeed(await hand.lease_one())
        await come_to(hand, hour + timedelta(hours=2, minutes=30, seconds=number))
    assert len(await started(hand)) == 3
    assert await runs(hand) == [("started", "caught_up")] * 3


async def test_without_catch_up_missed_ticks_are_left_out(hand):
    hour = await begin(hand)
    await store(hand, **HOURLY, catch_up=0)
    await come_to(hand, hour + timedelta(minutes=2))
    assert await started(hand) == []
    await come_to(hand, hour + timedelta(hours=1, seconds=30))
    assert len(await started(hand)) == 1, "a tick that is found within a minute is not missed"


async def test_a_tick_is_skipped_while_the_last_execution_runs(hand):
    hour = await begin(hand)
    await store(hand, **HOURLY)
    await come_to(hand, hour)
    await come_to(hand, hour + timedelta(hours=1))
    assert len(await started(hand)) == 1
    assert await runs(hand) == [("started", "tick"), ("skipped", "overlap")]


async def test_a_queued_tick_starts_when_the_last_execution_has_ended(hand):
    hour = await begin(hand)
    await store(hand, **HOURLY, overlap="queue")
    await come_to(hand, hour)
    await come_to(hand, hour + timedelta(hours=1))
    await come_to(hand, hour + timedelta(hours=2))
    assert len(await started(hand)) == 1
    assert (await runs(hand))[-1] == ("skipped", "queue_full"), "one tick waits at most"
    assert len((await hand.engine.schedules.get("nightly")).waiting) == 1
    await hand.succeed(await hand.lease_one())
    await come_to(hand, hour + timedelta(hours=2, seconds=1))
    assert len(await started(hand)) == 2
    assert (await runs(hand))[-1] == ("started", "queued")


async def test_a_tick_cancels_the_last_execution(hand):
    hour = await begin(hand)
    await store(hand, **HOURLY, overlap="cancel")
    await come_to(hand, hour)
    await come_to(hand, hour + timedelta(hours=1))
    first, second = await started(hand)
    assert (await hand.status(first), await hand.status(second)) == ("cancelled", "running")
    [cancelled] = await hand.data_of(first, "execution_cancelled")
    assert cancelled["actor"] == "tenax:schedule:nightly"


async def test_executions_may_overlap_if_they_are_allowed_to(hand):
    hour = await begin(hand)
    await store(hand, **HOURLY, overlap="allow")
    await come_to(hand, hour)
    await come_to(hand, hour + timedelta(hours=1))
    assert [await hand.status(one) for one in await started(hand)] == ["running"] * 2


async def test_a_schedule_pauses_itself_after_failures_in_a_row(hand):
    hour = await begin(hand)
    await store(hand, **HOURLY, pause_after_failures=2)
    for hours in range(2):
        await come_to(hand, hour + timedelta(hours=hours))
        await fail_next(hand)
    await come_to(hand, hour + timedelta(hours=2))
    assert len(await started(hand)) == 2
    shown = await hand.engine.schedules.get("nightly")
    assert (shown.state, shown.paused_by, shown.paused_why, shown.failures) == (
        "paused",
        "tenax:schedule:nightly",
        "2 executions in a row have failed",
        2,
    )
    assert shown.runs[0].kind == "paused"
    resumed = await hand.engine.schedules.resume("nightly", actor="ann", reason="mended")
    assert resumed.changed
    await come_to(hand, hour + timedelta(hours=3))
    assert len(await started(hand)) == 3, "the failures before are forgotten"


async def test_a_success_ends_a_row_of_failures(hand):
    hour = await begin(hand)
    await store(hand, **HOURLY, pause_after_failures=2)
    for hours, ends in enumerate((hand.fail, hand.succeed, hand.fail)):
        await come_to(hand, hour + timedelta(hours=hours))
        leased = await hand.lease_one()
        await (hand.succeed(leased) if ends == hand.succeed else hand.fail(leased, status_code=404))
    await come_to(hand, hour + timedelta(hours=3))
    assert len(await started(hand)) == 4
    assert (await hand.engine.schedules.get("nightly")).failures == 1


async def test_a_tick_that_cannot_start_is_recorded_and_counts_as_a_failure(hand):
    hour = await begin(hand)
    await hand.engine.store_workflow(WORK, actor="ann")
    await hand.engine.schedules.create("other", "nightly", {**HOURLY, "pause_after_failures": 1}, actor="ann")
    await hand.engine.store_workflow(WORK + "input: {day: {type: string, required: true}}\n", actor="ann")
    await come_to(hand, hour)
    [run] = (await hand.engine.schedules.get("other")).runs
    assert run.kind == "failed"
    assert "day: required, but not given" in run.note
    await come_to(hand, hour + timedelta(hours=1))
    assert (await hand.engine.schedules.get("other")).state == "paused"


async def test_nothing_that_comes_in_a_pause_is_made_up_for(hand):
    hour = await begin(hand)
    await store(hand, **HOURLY, catch_up=5)
    assert (await hand.engine.schedules.pause("nightly", actor="ann", reason="holidays")).changed
    assert not (await hand.engine.schedules.pause("nightly", actor="eve")).changed
    await come_to(hand, hour + timedelta(hours=3, minutes=30))
    await hand.engine.schedules.resume("nightly", actor="ann")
    await come_to(hand, hour + timedelta(hours=3, minutes=31))
    assert await started(hand) == []
    await come_to(hand, hour + timedelta(hours=4))
    assert len(await started(hand)) == 1
    entries = await hand.engine.audit()
    assert [entry.action for entry in entries if entry.kind == "schedule"] == [
        "schedule_resume",
        "schedule_pause",
        "schedule_create",
    ]


async def test_a_run_by_hand_is_the_last_execution_of_its_schedule(hand):
    hour = await begin(hand)
    await store(hand, **HOURLY)
    answer = await hand.engine.schedules.run_now("nightly", actor="ann", reason="a test")
    assert await started(hand) == [answer.execution_id]
    await come_to(hand, hour)
    assert await runs(hand) == [("started", "by_hand"), ("skipped", "overlap")]


async def test_a_file_without_its_schedule_deletes_it_when_it_is_stored(hand):
    hour = await begin(hand)
    await store(hand, **HOURLY)
    with pytest.raises(Conflict, match="declared by the file"):
        await hand.engine.schedules.delete("nightly", actor="ann")
    await hand.engine.store_workflow(WORK, actor="ann")
    await come_to(hand, hour)
    assert await started(hand) == []
    assert await hand.engine.schedules.list() == []


async def test_storing_the_same_file_again_moves_no_tick_and_a_change_does(hand):
    hour = await begin(hand)
    await store(hand, **HOURLY)
    before = await hand.engine.schedules.get("nightly")
    await hand.clock.pass_to(hour + timedelta(minutes=1))
    await store(hand, **HOURLY)
    assert (await hand.engine.schedules.get("nightly")).next_at == before.next_at
    await store(hand, cron="30 * * * *")
    assert (await hand.engine.schedules.get("nightly")).next_at[11:16] == "10:30"


async def test_a_one_off_schedule_is_over_after_its_time(hand):
    hour = await begin(hand)
    await hand.engine.store_workflow(WORK, actor="ann")
    answer = await hand.engine.schedules.create("once", "nightly", {"at": hour.isoformat()}, actor="ann")
    assert answer.created
    await come_to(hand, hour)
    shown = await hand.engine.schedules.get("once")
    assert (shown.state, shown.next_at, len(await started(hand))) == ("over", None, 1)
    assert (await hand.engine.schedules.delete("once", actor="ann")).deleted
    with pytest.raises(NotFound, match="no schedule 'once'"):
        await hand.engine.schedules.get("once")


async def test_jitter_delays_a_tick_by_less_than_it(hand):
    hour = await begin(hand)
    await store(hand, **HOURLY, jitter="10m")
    [row] = await hand.sql("select look_at, next_tick from tenax.schedule")
    assert row["next_tick"] == hour
    assert hour < row["look_at"] < hour + timedelta(minutes=10)
    await come_to(hand, row["look_at"] - timedelta(seconds=1))
    assert await started(hand) == []
    await come_to(hand, row["look_at"])
    assert await runs(hand) == [("started", "tick")]


async def test_what_could_never_start_is_refused_when_it_is_created(hand):
    create = hand.engine.schedules.create
    with pytest.raises(NotFound, match="no workflow named 'nope'"):
        await create("one", "nope", HOURLY, actor="ann")
    await hand.engine.store_workflow(WORK, actor="ann")
    with pytest.raises(InvalidDefinition, match="every"):
        await create("one", "nightly", {**HOURLY, "every": "1h"}, actor="ann")
    with pytest.raises(UsageError, match="cannot be the name"):
        await create("a b", "nightly", HOURLY, actor="ann")
    await store(hand, **HOURLY)
    with pytest.raises(Conflict, match="declared by the file"):
        await create("nightly", "nightly", HOURLY, actor="ann")


async def test_a_file_does_not_take_the_schedule_that_a_person_created(hand):
    await hand.engine.store_workflow(WORK, actor="ann")
    await hand.engine.schedules.create("nightly", "nightly", HOURLY, actor="ann")
    with pytest.raises(Conflict, match="a person has created"):
        await store(hand, **HOURLY)


async def test_time_skips_go_from_tick_to_tick(hand):
    hour = await begin(hand)
    waits = "name: nightly\nworkflow: [{step: a, type: wait, signal: go, deadline: 9h}]\n"
    await hand.engine.store_workflow(waits + "schedule: {every: 1h, overlap: queue}\n", actor="ann")
    async with transaction(hand.engine.context.database) as tx:
        assert await next_time(tx) == hour
    await come_to(hand, hour)
    await hand.settle_down()
    await come_to(hand, hour + timedelta(hours=1))
    async with transaction(hand.engine.context.database) as tx:
        assert await next_time(tx) == hour + timedelta(hours=2), (
            "a look at what still runs is none of its events"
        )


async def test_the_timers_wake_for_the_next_tick(hand):
    hour = await begin(hand)
    await store(hand, **HOURLY)
    await hand.clock.pass_to(hour - timedelta(seconds=3))
    assert await hand.engine.timers.tick() == 3.0
    await hand.clock.pass_to(hour)
    await hand.engine.timers.tick()
    assert len(await started(hand)) == 1
