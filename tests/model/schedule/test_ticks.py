"""The ticks of schedules: intervals, points in time, bounds, jitter, and the newest ticks of a long time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.model.schedule.cron import check_cron
from tenax.model.schedule.moments import find_zone, read_moment
from tenax.model.schedule.schedule import Schedule
from tenax.model.schedule.ticks import delay_of, newest_ticks, next_after, next_ticks

NOON = datetime(2027, 6, 1, 12, tzinfo=UTC)


def hhmm(ticks: list[datetime]) -> list[str]:
    return [tick.strftime("%H:%M") for tick in ticks]


def test_an_interval_is_aligned_whenever_it_was_stored():
    assert hhmm(next_ticks(Schedule(every=600), NOON + timedelta(minutes=3), 3)) == [
        "12:10",
        "12:20",
        "12:30",
    ]
    assert hhmm(next_ticks(Schedule(every=86400), NOON, 1)) == ["00:00"]


def test_an_interval_is_counted_from_its_start():
    schedule = Schedule(every=600, start=NOON + timedelta(minutes=3))
    assert hhmm(next_ticks(schedule, NOON, 3)) == ["12:03", "12:13", "12:23"]


def test_bounds():
    schedule = Schedule(cron="0 * * * *", start=NOON + timedelta(hours=2), end=NOON + timedelta(hours=4))
    assert hhmm(next_ticks(schedule, NOON, 9)) == ["14:00", "15:00", "16:00"]


def test_points_in_time():
    schedule = Schedule(at=(NOON, NOON + timedelta(hours=1)))
    assert next_ticks(schedule, NOON - timedelta(hours=9), 9) == [NOON, NOON + timedelta(hours=1)]
    assert next_after(schedule, NOON + timedelta(hours=1)) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2027-03-28T02:30", "2027-03-28T01:30:00+00:00"),  # it is skipped: 03:30 in summer time
        ("2027-10-31T02:30", "2027-10-31T00:30:00+00:00"),  # it comes twice: the first
        ("2027-06-01 12:00:00", "2027-06-01T10:00:00+00:00"),
        ("2027-06-01T12:00-05:00", "2027-06-01T17:00:00+00:00"),
    ],
)
def test_a_time_without_a_zone_is_local(text, expected):
    assert read_moment(text, find_zone("Europe/Zurich")).isoformat() == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("tomorrow", "is not a time"),
        ("2027-02-30T00:00", "day is out of range"),
        ("9999-01-01T00:00", "years"),
    ],
)
def test_what_is_no_time_is_refused(text, says):
    with pytest.raises(ValueError, match=says):
        read_moment(text, UTC)


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("* * * *", "wrong number of fields"),
        ("61 * * * *", "bad minute"),
        ("0 0 31 2 *", "bad day-of-month"),
        ("0 0 */31 * TUE#5", "never comes"),
        ("0 0 * * L", "bad day-of-week"),
        ("1" * 300, "at most 200 characters"),
    ],
)
def test_what_is_no_expression_is_refused(expression, says):
    with pytest.raises(ValueError, match=says):
        check_cron(expression)


def test_names_of_expressions():
    assert check_cron("@daily") == "0 0 * * *"
    assert check_cron("  0  3 * *   MON ") == "0 3 * * MON"


@pytest.mark.parametrize(
    "name", ["Europe/Zurihc", "../etc/passwd", "Europe", "", "/etc/localtime", "x" * 300]
)
def test_what_is_no_zone_is_refused(name):
    with pytest.raises(ValueError, match="is not a time zone"):
        find_zone(name)


SCHEDULES = st.one_of(
    st.sampled_from(
        ["* * * * *", "*/7 * * * *", "0 3 * * *", "30 2 * * SUN", "0 0 1 * *", "*/20 * * * * *"]
    ).map(lambda cron: Schedule(cron=cron, timezone="Europe/Zurich")),
    st.integers(20, 90_000).map(lambda seconds: Schedule(every=float(seconds))),
    st.sets(st.integers(0, 10_000), min_size=1, max_size=9).map(
        lambda minutes: Schedule(at=tuple(NOON + timedelta(minutes=n) for n in sorted(minutes)))
    ),
)


@given(SCHEDULES, st.integers(0, 1_500), st.integers(1, 6))
def test_the_newest_ticks_are_the_last_of_all(schedule, minutes, most):
    first = next_after(schedule, NOON - timedelta(days=2))
    assert first is not None
    until = first + timedelta(minutes=minutes)
    ticks, at = [], first
    while at is not None and at <= until:
        ticks.append(at)
        at = next_after(schedule, at) if schedule.every is None else at + timedelta(seconds=schedule.every)
    assert newest_ticks(schedule, first, until, most) == ticks[-most:]


def test_years_of_missed_ticks_are_not_listed():
    first = NOON - timedelta(days=3650)
    ticks = newest_ticks(Schedule(cron="* * * * * *"), first, NOON, 3)
    assert ticks == [NOON - timedelta(seconds=n) for n in (2, 1, 0)]


@given(SCHEDULES, st.floats(1, 10_000), st.text(min_size=1, max_size=9))
def test_jitter_keeps_the_order_of_ticks_and_is_the_same_everywhere(schedule, jitter, name):
    jittered = Schedule.from_dict({**schedule.as_dict(), "jitter": jitter})
    first, *more = next_ticks(jittered, NOON - timedelta(days=1), 2)
    delay = delay_of(name, jittered, first)
    assert timedelta() <= delay <= timedelta(seconds=jitter)
    assert delay == delay_of(name, jittered, first)
    assert all(first + delay < one for one in more)


@given(SCHEDULES)
def test_the_stored_form_is_the_same_schedule(schedule):
    assert Schedule.from_dict(schedule.as_dict()) == schedule
