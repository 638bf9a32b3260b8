"""Schedules and what they did, in words."""

from __future__ import annotations

import pytest

from tenax.drawing.schedule_words import local_time, next_words, rules_words, run_words, times_words

SKIPPED = {"kind": "skipped", "until": None, "note": None}


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        ({"cron": "0 3 * * *"}, "cron 0 3 * * * in UTC"),
        ({"cron": "0 3 * * *", "timezone": "Europe/Zurich"}, "cron 0 3 * * * in Europe/Zurich"),
        ({"every": 5400.0}, "every 1h 30m"),
        ({"at": ["2030-01-31T09:30:00Z"]}, "at 2030-01-31 09:30:00Z"),
        ({"at": ["2030-01-31T09:30:00Z", "2031-01-31T09:30:00Z"]}, "at 2030-01-31 09:30:00Z and 1 more"),
    ],
)
def test_times(schedule, words):
    assert times_words(schedule) == words


def test_rules_name_what_is_not_at_its_default():
    assert rules_words({"cron": "* * * * *"}) == []
    given = {
        "overlap": "queue",
        "catch_up": 0,
        "jitter": 60.0,
        "pause_after_failures": 3,
        "end": "2030-01-31T09:30:00Z",
    }
    assert rules_words(given) == [
        "overlap: queue",
        "catch_up: 0",
        "jitter: 1m",
        "pause_after_failures: 3",
        "end: 2030-01-31T09:30:00Z",
    ]


@pytest.mark.parametrize(
    ("run", "words"),
    [
        ({"kind": "started", "reason": "tick"}, "started at its time"),
        ({"kind": "started", "reason": "caught_up"}, "started late, to make up for its tick"),
        ({**SKIPPED, "reason": "overlap"}, "skipped: the last execution still ran"),
        (
            {**SKIPPED, "reason": "missed", "until": "T"},
            "skipped, with all ticks up to T: no server ran at its time",
        ),
        (
            {"kind": "failed", "reason": "tick", "note": "no such workflow"},
            "could not start: no such workflow",
        ),
        ({"kind": "paused", "reason": None, "note": "3 have failed"}, "paused itself: 3 have failed"),
    ],
)
def test_what_a_schedule_did(run, words):
    assert run_words(run) == words


def test_ticks_are_shown_in_the_zone_of_the_schedule():
    assert local_time("2027-06-01T10:00:00Z", {"timezone": "Europe/Zurich"}) == "2027-06-01 12:00:00+02:00"


def test_the_next_start():
    one = {"schedule": {"every": 600.0}, "next_at": "2027-06-01T10:00:00Z", "state": "active"}
    assert next_words(one) == "its schedule (every 10m) starts it next at 2027-06-01 10:00:00+00:00"
    assert next_words({**one, "next_at": None, "state": "paused"}) == "its schedule (every 10m) is paused"
