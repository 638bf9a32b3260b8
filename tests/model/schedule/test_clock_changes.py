"""Cron in zones whose clocks change: each local tick once, against documented cases and a slow reference."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.model.schedule.cron import cron_ticks, next_cron
from tenax.model.schedule.moments import find_zone, read_moment

MINUTE = timedelta(minutes=1)
ZURICH = "Europe/Zurich"


def local(expression: str, zone: str, day: str, hours: int = 24) -> list[str]:
    """Returns the ticks of some hours from local midnight on, as local times with their offsets."""
    begin = read_moment(f"{day}T00:00", find_zone(zone))
    found = cron_ticks(
        expression, find_zone(zone), begin - timedelta(seconds=1), begin + timedelta(hours=hours, seconds=-1)
    )
    return [tick.astimezone(find_zone(zone)).strftime("%H:%M%z") for tick in found]


@pytest.mark.parametrize(
    ("expression", "day", "expected"),
    [
        # Spring: 02:00 to 03:00 are skipped.
        ("0 3 * * *", "2027-03-28", ["03:00+0200"]),
        ("30 2 * * *", "2027-03-28", ["03:00+0200"]),
        ("0,30 2 * * *", "2027-03-28", ["03:00+0200"]),
        ("30 2,3 * * *", "2027-03-28", ["03:00+0200", "03:30+0200"]),
        ("30 * * * *", "2027-03-28", ["00:30+0100", "01:30+0100", "03:30+0200"]),
        ("*/30 2 * * *", "2027-03-28", []),
        # Autumn: 02:00 to 03:00 come twice.
        ("30 2 * * *", "2027-10-31", ["02:30+0200"]),
        ("0 3 * * *", "2027-10-31", ["03:00+0100"]),
        ("30 1-3 * * *", "2027-10-31", ["01:30+0200", "02:30+0200", "03:30+0100"]),
        ("30 * * * *", "2027-10-31", ["00:30+0200", "01:30+0200", "02:30+0200", "02:30+0100", "03:30+0100"]),
    ],
)
def test_documented_cases(expression, day, expected):
    assert local(expression, ZURICH, day, 3 if "10-31" not in day else 5) == expected


def test_a_tick_of_the_first_hour_does_not_come_again_in_the_second():
    """From within the second of two equal hours, a local time of the first one lies in the past."""
    second = datetime(2027, 10, 31, 1, 15, tzinfo=UTC)  # 02:15+0100
    assert next_cron("45 2 * * *", find_zone(ZURICH), second) == datetime(2027, 11, 1, 1, 45, tzinfo=UTC)


def test_a_day_that_a_zone_skips_comes_at_its_end():
    """Samoa had no 30 December 2011."""
    assert local("0 12 * * *", "Pacific/Apia", "2011-12-29", 48) == ["12:00-1000", "00:00+1400", "12:00+1400"]


CHANGES = [
    ("Europe/Zurich", "2027-03-28T01:00Z"),
    ("Europe/Zurich", "2027-10-31T01:00Z"),
    ("America/New_York", "2027-03-14T07:00Z"),
    ("America/New_York", "2027-11-07T06:00Z"),
    ("America/St_Johns", "2027-03-14T05:30Z"),
    ("Australia/Lord_Howe", "2027-10-02T15:30Z"),
    ("Australia/Lord_Howe", "2027-04-03T15:00Z"),
    ("America/Sao_Paulo", "2018-11-04T03:00Z"),
    ("America/Sao_Paulo", "2018-02-18T02:00Z"),
    ("Antarctica/Troll", "2027-03-28T01:00Z"),
    ("Antarctica/Troll", "2027-10-31T01:00Z"),
    ("Pacific/Apia", "2011-12-30T10:00Z"),
    ("Africa/Casablanca", "2027-02-07T02:00Z"),
    ("Asia/Kathmandu", "2027-03-28T01:00Z"),
]


@st.composite
def fields(draw: st.DrawFn, most: int) -> tuple[str, frozenset[int]]:
    """A field of an expression, and the values that it has."""
    if draw(st.booleans()):
        step = draw(st.sampled_from([1, 2, 7, 15, 20]))
        return ("*" if step == 1 else f"*/{step}"), frozenset(range(0, most, step))
    chosen = draw(st.sets(st.integers(0, most - 1), min_size=1, max_size=4))
    return ",".join(map(str, sorted(chosen))), frozenset(chosen)


def reference(
    minute: tuple[str, frozenset[int]],
    hour: tuple[str, frozenset[int]],
    zone: ZoneInfo,
    begin: datetime,
    end: datetime,
) -> list[datetime]:
    """Looks at every minute. Fixed local times come once; other expressions follow the clock."""
    if minute[0].startswith("*") or hour[0].startswith("*"):
        moments = (begin + n * MINUTE for n in range(1, int((end - begin) / MINUTE) + 1))
        return [
            one
            for one in moments
            if one.astimezone(zone).minute in minute[1] and one.astimezone(zone).hour in hour[1]
        ]
    first = begin.astimezone(zone).replace(tzinfo=None) - timedelta(days=2)
    found = set()
    for n in range(int((end - begin) / MINUTE) + 4 * 1440):
        clock = first + n * MINUTE
        if clock.minute in minute[1] and clock.hour in hour[1]:
            while (there := clock.replace(tzinfo=zone).astimezone(UTC)).astimezone(zone).replace(
                tzinfo=None
            ) != clock:
                clock += MINUTE
            found.add(there)
    return sorted(one for one in found if begin < one <= end)


@given(change=st.sampled_from(CHANGES), minute=fields(60), hour=fields(24), before=st.integers(0, 600))
def test_ticks_around_a_change_are_those_of_the_reference(change, minute, hour, before):
    zone = ZoneInfo(change[0])
    begin = read_moment(change[1], UTC) - before * MINUTE
    end = begin + timedelta(hours=30)
    expression = f"{minute[0]} {hour[0]} * * *"
    expected = reference(minute, hour, zone, begin, end)
    assert cron_ticks(expression, zone, begin, end) == expected
    one_by_one, at = [], begin
    while (tick := next_cron(expression, zone, at)) is not None and tick <= end:
        one_by_one.append(tick)
        at = tick
    assert one_by_one == expected, "it does not matter from where the next tick is looked for"
