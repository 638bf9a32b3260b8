"""What a schedule does now: ticks that are due, late, missed, waiting or in the way of each other."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.model.schedule.look import ScheduleFacts, Waiting, look, look_at
from tenax.model.schedule.schedule import OVERLAPS, Schedule

NOON = datetime(2027, 6, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def facts(**more: object) -> ScheduleFacts:
    return ScheduleFacts(**{"next_tick": NOON, "waiting": (), "is_running": False, "failures": 0, **more})


def test_nothing_happens_before_the_tick():
    decided = look("s", Schedule(every=3600), facts(), NOON - timedelta(seconds=1))
    assert not decided.acts
    assert decided.next_tick == NOON


@pytest.mark.parametrize("late", [0, 59, 60])
def test_a_tick_that_is_a_little_late_is_on_time(late):
    decided = look("s", Schedule(every=3600, catch_up=0), facts(), NOON + timedelta(seconds=late))
    assert [(one.tick, one.origin) for one in decided.starts] == [(NOON, "tick")]
    assert decided.next_tick == NOON + HOUR


def test_made_up_ticks_come_before_the_one_of_now():
    decided = look("s", Schedule(every=3600, catch_up=2), facts(), NOON + 4 * HOUR)
    assert [(one.tick, one.origin) for one in decided.starts] == [(NOON + 2 * HOUR, "caught_up")]
    assert [(one.tick, one.origin) for one in decided.waiting] == [(NOON + 3 * HOUR, "caught_up")]
    assert [(one.tick, one.until, one.reason) for one in decided.skipped] == [
        (NOON, NOON + HOUR, "missed"),
        (NOON + 4 * HOUR, None, "overlap"),
    ]


def test_a_tick_of_cancel_takes_the_place_of_all_that_wait():
    waiting = (Waiting(NOON - HOUR, "caught_up"),)
    decided = look("s", Schedule(every=3600, overlap="cancel"), facts(waiting=waiting, is_running=True), NOON)
    assert decided.cancels
    assert [one.tick for one in decided.starts] == [NOON]
    assert [(one.tick, one.reason) for one in decided.skipped] == [(NOON - HOUR, "replaced")]
    assert decided.waiting == ()


def test_a_schedule_that_waits_is_looked_at_every_second():
    schedule = Schedule(every=3600)
    assert look_at("s", schedule, NOON, waits=True, now=NOON - HOUR) == NOON - HOUR + timedelta(seconds=1)
    assert look_at("s", schedule, NOON, waits=False, now=NOON - HOUR) == NOON
    assert look_at("s", schedule, None, waits=False, now=NOON) is None


@given(
    overlap=st.sampled_from(OVERLAPS),
    catch_up=st.integers(0, 4),
    looks=st.lists(st.tuples(st.integers(1, 9_000), st.booleans()), min_size=1, max_size=12),
)
def test_each_tick_is_dealt_with_once(overlap, catch_up, looks):
    """Whenever a server looks, each tick starts, waits or is left out, and only one of them, once."""
    schedule = Schedule(every=600, overlap=overlap, catch_up=catch_up)
    now, next_tick, waiting, running = NOON, NOON, (), False
    seen: list[datetime] = []
    left_out: list[tuple[datetime, datetime]] = []
    for seconds, ended in looks:
        now += timedelta(seconds=seconds)
        running = running and not ended
        decided = look("s", schedule, ScheduleFacts(next_tick, waiting, running, 0), now)
        assert decided.cancels <= running
        assert len(decided.starts) <= 1 or overlap == "allow"
        assert not (decided.starts and running) or decided.cancels or overlap == "allow"
        running = running or bool(decided.starts)
        next_tick, waiting = decided.next_tick, decided.waiting
        seen += [one.tick for one in decided.starts]
        left_out += [(one.tick, one.until or one.tick) for one in decided.skipped]
    for first, last in left_out:
        seen += [
            first + n * timedelta(minutes=10) for n in range(int((last - first) / timedelta(minutes=10)) + 1)
        ]
    seen += [one.tick for one in waiting]
    assert sorted(seen) == [
        NOON + n * timedelta(minutes=10) for n in range(int((next_tick - NOON) / timedelta(minutes=10)))
    ]
    assert next_tick > now
