"""Tests the pure parts of the bench. No test measures time."""

from __future__ import annotations

import json

import pytest
from benchmarks.load import steady_count
from benchmarks.report import Figure, Mark, Run, machine_lines, number, table
from benchmarks.stats import Tail, longest_gap, median, percentile, ratios


@pytest.mark.parametrize(
    ("values", "percent", "expected"),
    [
        ([7.0], 50, 7.0),
        ([7.0], 99, 7.0),
        ([1.0, 2.0], 50, 1.0),
        ([3.0, 1.0, 2.0], 50, 2.0),
        (list(map(float, range(1, 101))), 99, 99.0),
        (list(map(float, range(1, 101))), 100, 100.0),
        (list(map(float, range(1, 101))), 0, 1.0),
        (list(map(float, range(1, 501))), 99, 495.0),
    ],
)
def test_a_percentile_is_a_measured_value_by_nearest_rank(values, percent, expected):
    assert percentile(values, percent) == expected


@pytest.mark.parametrize(("values", "percent"), [([], 50), ([1.0], 101), ([1.0], -1)])
def test_a_percentile_of_nothing_or_beyond_the_scale_is_refused(values, percent):
    with pytest.raises(ValueError, match=r"no values|no percentage"):
        percentile(values, percent)


@pytest.mark.parametrize(
    ("values", "expected"), [([5.0], 5.0), ([9.0, 1.0, 4.0], 4.0), ([4.0, 1.0, 3.0, 2.0], 2.5)]
)
def test_median(values, expected):
    assert median(values) == expected


def test_ratios_are_taken_round_by_round():
    assert ratios([10.0, 30.0], [20.0, 40.0]) == (0.5, 0.75)
    with pytest.raises(ValueError, match="argument 2"):
        ratios([1.0], [1.0, 2.0])


@pytest.mark.parametrize(
    ("moments", "gap"),
    [
        ([], 10.0),
        ([14.0], 6.0),
        ([17.0, 12.0, 13.0], 4.0),
        ([11.0, 12.0, 13.0], 7.0),
        ([5.0, 15.0, 25.0], 5.0),
    ],
    ids=["none", "one", "in no order", "none at the end", "outside"],
)
def test_the_longest_gap_counts_the_beginning_and_the_end(moments, gap):
    assert longest_gap(moments, 10.0, 20.0) == gap


def test_a_tail_is_in_milliseconds():
    tail = Tail.of_seconds([n / 1000 for n in range(1, 101)])
    assert (tail.p50, tail.p99, tail.worst, tail.count) == (50.0, 99.0, 100.0, 100)


@pytest.mark.parametrize(
    ("mark", "value", "reached"),
    [
        (Mark("at least", 0.2), 0.2, True),
        (Mark("at least", 0.2), 0.19, False),
        (Mark("at most", 10), 10.0, True),
        (Mark("at most", 10), 10.1, False),
    ],
)
def test_a_mark_includes_its_limit(mark, value, reached):
    assert mark.reached(value) is reached


def test_the_median_of_the_rounds_is_held_against_the_mark():
    assert Figure("m", "f", "ms", (1.0, 11.0, 12.0), Mark("at most", 11)).reached is True
    assert Figure("m", "f", "ms", (1.0, 12.0, 12.0), Mark("at most", 11)).reached is False
    assert Figure("m", "f", "ms", (1.0,)).reached is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (40503.4, "40,503"),
        (123.4, "123"),
        (12.345, "12.3"),
        (1.234, "1.23"),
        (0.2, "0.20"),
        (0.0123, "0.012"),
        (0, "0.00"),
    ],
)
def test_numbers_have_three_digits_that_mean_something(value, text):
    assert number(value) == text


def test_the_table_shows_median_spread_mark_and_the_command_that_measures_it():
    figures = [
        Figure("throughput", "raw limit", "/s", (40000.0, 42000.0, 38000.0)),
        Figure("throughput", "in-process / raw limit", "", (0.15, 0.16, 0.17), Mark("at least", 0.2)),
        Figure("start", "tenax --help", "s", (0.2,), Mark("at most", 0.3), note="best of 5"),
    ]
    assert [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table(figures).splitlines()[2:]
    ] == [
        ["throughput", "raw limit", "40,000 /s", "38,000 .. 42,000", "", "", ""],
        [
            "throughput",
            "in-process / raw limit",
            "0.16",
            "0.15 .. 0.17",
            "at least 0.20",
            "NO",
            "make bench ONLY=throughput",
        ],
        ["start", "tenax --help (best of 5)", "0.20 s", "", "at most 0.30", "yes", "make bench ONLY=start"],
    ]


def test_all_lines_of_the_table_are_of_one_width():
    lines = table(
        [Figure("a", "short", "s", (1.0,)), Figure("b", "a much longer name", "ms", (1.0, 2.0))]
    ).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert lines[0].startswith("| measure")
    assert set(lines[1]) == {"|", "-"}


def test_the_results_are_json_with_every_round():
    figure = Figure("lateness", "p50", "ms", (4.0, 6.0), Mark("at most", 10), note="light")
    run = Run("2026-01-01T00:00:00+00:00", {"cores": 2}, {"quick": True}, [figure])
    assert json.loads(json.dumps(run.as_dict())) == {
        "started": "2026-01-01T00:00:00+00:00",
        "machine": {"cores": 2},
        "options": {"quick": True},
        "figures": [
            {
                "measure": "lateness",
                "name": "p50",
                "unit": "ms",
                "median": 5.0,
                "least": 4.0,
                "most": 6.0,
                "rounds": [4.0, 6.0],
                "mark": {"bound": "at most", "limit": 10, "reached": True},
                "command": "make bench ONLY=lateness",
                "note": "light",
            }
        ],
    }


def test_the_machine_is_described_line_by_line():
    assert machine_lines({"cores": 2, "load_average_before": 0.5}) == "cores: 2\nload average before: 0.5"


def test_what_was_written_can_be_read_again():
    figure = Figure("lateness", "p50", "ms", (4.0, 6.0), Mark("at most", 10), note="light")
    run = Run("2026-01-01T00:00:00+00:00", {"cores": 2}, {}, [figure, Figure("m", "f", "", (1.0,))])
    assert Run.from_dict(json.loads(json.dumps(run.as_dict()))) == run


def test_a_steady_load_has_one_job_more_that_brings_the_definition():
    assert steady_count(50, 10) == 501
