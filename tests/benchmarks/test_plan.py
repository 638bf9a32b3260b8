"""Tests the number of rounds that a measure runs."""

from __future__ import annotations

import pytest
from benchmarks.plan import Plan
from benchmarks.report import Figure, Mark


@pytest.mark.parametrize(
    ("warm_up", "most", "numbers"),
    [(True, 1000, [0, 1, 2, 3, 4, 5]), (False, 1000, [1, 2, 3, 4, 5]), (False, 3, [1, 2, 3])],
)
def test_the_warm_up_is_round_zero(warm_up, most, numbers, capsys):
    assert list(Plan(rounds=5).each_round("throughput", warm_up=warm_up, most=most)) == numbers
    assert "throughput" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("value", "mark", "near"),
    [
        (10.0, Mark("at most", 12.0), True),
        (10.0, Mark("at most", 12.1), False),
        (10.0, Mark("at least", 8.0), True),
        (10.0, Mark("at least", 7.9), False),
        (0.0, Mark("at most", 0.0), False),
        (1.0, Mark("at most", 0.0), False),
    ],
)
def test_a_mark_is_near_within_a_fifth_of_the_median_on_either_side(value, mark, near):
    assert Figure("m", "f", "ms", (value,), mark).near_its_mark is near


def rounds_of(plan, values, mark=None, **more):
    """Runs rounds that measure these values, one after the other."""
    found = []

    def figures():
        return [Figure("m", "other", "ms", (1.0,)), Figure("m", "watched", "ms", tuple(found), mark)]

    for n in plan.each_round("m", warm_up=False, figures=figures, **more):
        found += [values[n - 1]]
    return len(found)


@pytest.mark.parametrize(
    ("values", "mark", "rounds"),
    [
        ([10.0] * 10, Mark("at most", 11.0), 10),
        ([10.0] * 10, Mark("at most", 20.0), 3),
        ([10.0] * 10, None, 3),
        # The median counts, not the worst round; and not what comes later.
        ([10.0, 10.0, 20.0, *[20.0] * 7], Mark("at most", 20.0), 3),
        ([10.0, 11.0, 20.0, *[99.0] * 7], Mark("at most", 11.0), 10),
    ],
)
def test_a_measure_goes_on_to_ten_rounds_where_a_median_is_near_its_mark(values, mark, rounds):
    assert rounds_of(Plan(rounds=5), values, mark, most=3) == rounds


def test_the_figure_that_asks_for_more_rounds_is_named(capsys):
    rounds_of(Plan(rounds=2), [1.0] * 10, Mark("at most", 1.0))
    assert "on to 10 rounds, near its mark is: watched" in capsys.readouterr().err


def test_a_quick_run_has_one_round_however_near_the_mark_is():
    assert rounds_of(Plan.quick(), [1.0], Mark("at most", 1.0)) == 1
