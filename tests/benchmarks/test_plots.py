"""The plots: valid XML, all bars on one scale, marks as ratios."""

from __future__ import annotations

import math
from xml.etree import ElementTree as ET

import pytest
from benchmarks.plots import BAR_WIDTH, WIDTH, plots, times_the_mark
from benchmarks.report import Figure, Mark, Run

SVG = "{http://www.w3.org/2000/svg}"


def drawn(*figures):
    found = plots(Run("2026-01-01T00:00:00+00:00", {}, {}, figures))
    return {name: ET.fromstring(text) for name, text in found.items()}


def widths(drawing):
    return [float(rect.get("width")) for rect in drawing.iter(f"{SVG}rect") if rect.get("class") == "bar"]


def words(drawing):
    return [text.text for text in drawing.iter(f"{SVG}text")]


def test_bars_are_in_proportion_to_their_medians():
    [drawing] = drawn(
        Figure("throughput", "raw limit", "/s", (40_000.0,)),
        Figure("throughput", "in-process", "/s", (9_000.0, 10_000.0, 11_000.0)),
    ).values()
    assert widths(drawing) == [BAR_WIDTH, BAR_WIDTH / 4]


def test_the_whisker_goes_from_the_lowest_round_to_the_highest():
    [drawing] = drawn(Figure("m", "a", "s", (1.0, 3.0, 4.0)), Figure("m", "b", "s", (2.0,))).values()
    whisker, *_ = drawing.iter(f"{SVG}line")
    start, end = float(whisker.get("x1")), float(whisker.get("x2"))
    assert end - start == pytest.approx(BAR_WIDTH * (4.0 - 1.0) / 4.0)
    assert len(list(drawing.iter(f"{SVG}line"))) == 3  # one round has no spread


def test_a_plot_has_one_unit_and_at_least_two_bars():
    names = drawn(
        Figure("lateness", "p50", "ms", (1.0,)),
        Figure("lateness", "p99", "ms", (2.0,)),
        Figure("lateness", "in-process", "/s", (3.0,)),
        Figure("lateness", "over HTTP", "/s", (4.0,)),
        Figure("start", "tenax --help", "s", (5.0,)),
        Figure("rolling", "lost", "", (0.0,)),
        Figure("rolling", "counted", "", (0.0,)),
    )
    assert list(names) == ["lateness-ms", "lateness-per-second"]


def test_the_marks_are_shown_as_ratios_with_more_always_better():
    marks = drawn(
        Figure("a", "half", "ms", (5.0,), Mark("at most", 10)),
        Figure("b", "missed", "/s", (5.0,), Mark("at least", 10)),
        Figure("c", "zero has no ratio", "", (0.0,), Mark("at most", 0)),
        Figure("d", "no mark", "s", (1.0,)),
        Figure("e", "far beyond", "s", (0.001,), Mark("at most", 10)),
    )["marks"]
    assert widths(marks) == pytest.approx([BAR_WIDTH * 2 / 3, BAR_WIDTH * 0.5 / 3, BAR_WIDTH], abs=0.01)
    assert "a: half" in words(marks)
    assert "2.00   (5.00 ms, at most 10.0)" in words(marks)
    fills = [rect.get("fill") for rect in marks.iter(f"{SVG}rect") if rect.get("class") == "bar"]
    assert fills[0] == fills[2] != fills[1]


def test_a_measured_zero_is_infinitely_good_or_infinitely_bad():
    assert times_the_mark(Mark("at most", 10), 0.0) == math.inf
    assert times_the_mark(Mark("at least", 10), 0.0) == 0.0


def test_names_are_written_as_text_whatever_they_hold():
    [drawing] = drawn(Figure("m", "a < b & c", "s", (1.0,)), Figure("m", "µs", "s", (0.0,))).values()
    assert "a < b & c" in words(drawing)


def test_words_that_do_not_fit_beside_the_bar_stand_within_it():
    marks = drawn(Figure("m", "f", "a very long unit of measurement", (5.0, 30.0), Mark("at most", 10)))[
        "marks"
    ]
    for text in marks.iter(f"{SVG}text"):
        if text.get("text-anchor") == "start":
            assert float(text.get("x")) + 5 * len(text.text) < WIDTH
