"""Time is mapped to pixels, and long gaps are folded."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.drawing.ticks import offset_words, round_step
from tenax.drawing.timeline.time_axis import MAX_FOLDS, make_axis

HOUR = 3600.0


def folds(busy, end):
    return [
        (round(p.start), round(p.end)) for p in make_axis(busy, end, left=0, right=700).pieces if p.folded
    ]


@pytest.mark.parametrize(
    ("busy", "end", "expected"),
    [
        ([(0, 0.1), (1.1, 1.2), (3.2, 3.3)], 3.3, []),  # delays of seconds are drawn as they are
        ([(0, 10), (10 + HOUR, 20 + HOUR)], 20 + HOUR, [(11, 9 + HOUR)]),
        ([(0, 10), (100, 110)], 110, [(11, 99)]),
        ([(0, 60), (100, 160)], 160, []),  # the gap is not long beside the attempts
        ([(0, 1), (61, 62), (182, 183), (423, 424)], 424, []),  # growing delays: all is plain to see
        (
            [(0, 5), (5, 9), (HOUR, HOUR + 1), (2 * HOUR, 2 * HOUR + 5)],
            2 * HOUR + 5,
            [(10, 3599), (3602, 7199)],
        ),
    ],
)
def test_gaps_fold(busy, end, expected):
    assert folds(busy, end) == expected


def test_a_gap_before_the_first_bar_folds_too():
    assert folds([(HOUR, HOUR + 5), (HOUR + 6, HOUR + 9)], HOUR + 9) == [(0, 3600)]


spans = st.lists(
    st.tuples(st.floats(0, 1e6), st.floats(0, 1e3)).map(lambda s: (s[0], s[0] + s[1])), max_size=30
)


@given(spans, st.floats(0, 2e6))
def test_the_axis_is_whole_and_in_order(busy, more):
    end = max([stop for _, stop in busy], default=0.0) + more
    axis = make_axis(busy, end, left=100, right=800)
    assert (axis.pieces[0].start, axis.left, axis.right) == (0.0, 100, pytest.approx(800))
    assert axis.pieces[-1].end == max(end, 0.001)
    assert all((a.end, a.right) == (b.start, b.left) for a, b in pairwise(axis.pieces))
    assert sum(piece.folded for piece in axis.pieces) <= MAX_FOLDS
    assert all(piece.right > piece.left for piece in axis.pieces)
    times = sorted(time for span in busy for time in span)
    places = [axis.x(time) for time in times]
    assert places == sorted(places)
    assert all(100 <= x <= 800.001 for x in places)
    ticks = list(axis.ticks())
    assert all(b.x - a.x >= 60 for a, b in pairwise(ticks))
    assert len(ticks) <= 12


@pytest.mark.parametrize(
    ("seconds", "step", "expected"),
    [
        (0, 1, "0s"), (0, 0.01, "0"), (0.25, 0.05, "250ms"), (5, 5, "5s"), (61.5, 0.5, "1m 1.5s"), (60, 0.5, "1m"),
        (7200, 3600, "2h"), (90000, 3600, "1d 1h"), (43203, 1, "12h 3s"),
    ],
)  # fmt: skip
def test_times_on_the_axis(seconds, step, expected):
    assert offset_words(seconds, step) == expected


@pytest.mark.parametrize(
    ("least", "expected"),
    [(0.003, 0.005), (0.2, 0.2), (1.5, 2), (11, 15), (61, 120), (90000, 172800), (86400 * 30, 86400 * 50)],
)
def test_steps_are_round(least, expected):
    assert round_step(least) == pytest.approx(expected)
