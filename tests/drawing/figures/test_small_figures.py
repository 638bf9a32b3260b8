"""Delays, budgets and series as small figures."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.drawings.markup import SVG, frame, page, with_class, words

from tenax.drawing.figures.small_bars import (
    budget_words,
    delay_parts,
    delay_words,
    draw_budget_bar,
    draw_delay_bar,
)
from tenax.drawing.figures.sparkline import MAX_POINTS, draw_sparkline
from tenax.model.decision import DelayParts
from tenax.model.policy import Policy
from tenax.policy.retry.backoff import plan_delay

POLICY = Policy(initial_delay=1, backoff="exponential", backoff_multiplier=2, max_delay=60, jitter=0.25)


def planned(n=3, roll=0.5, hint=None, after=None, policy=POLICY):
    return plan_delay(policy, n=n, previous=None, roll=roll, hint=hint, after=after)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (planned(roll=0.0), "4s by the exponential curve, jitter -1s: waits 3s"),
        (planned(roll=1.0), "4s by the exponential curve, jitter +1s: waits 5s"),
        (planned(hint=10), "4s by the exponential curve, the callee asked for 10s: waits 11.25s"),
        (
            planned(hint=1e6),
            "4s by the exponential curve, the callee asked for 11d 13h 46m 40s, of which 1h are allowed: waits 1h 7m 30s",
        ),
        (planned(after=30), "the handler asked for 30s: waits 30s"),
        (DelayParts(5.0, "snooze"), "waits 5s (snooze)"),
    ],
)
def test_a_delay_in_words(parts, expected):
    assert delay_words(parts) == expected
    assert page(draw_delay_bar(parts)).attrib["aria-label"] == expected


def test_the_parts_of_a_delay_add_up():
    root = page(draw_delay_bar(planned(hint=10)))
    [curve], [asked] = with_class(root, "tx-curve"), with_class(root, "tx-hinted")
    assert frame(curve)[2] == frame(asked)[0]
    assert frame(asked)[2] / frame(curve)[2] == pytest.approx(11.25 / 4, rel=1e-3)
    assert "asked 10s" in words(root)


def test_jitter_that_shortens_is_within_the_curve():
    root = page(draw_delay_bar(planned(roll=0.0)))
    [curve], [jitter] = with_class(root, "tx-curve"), with_class(root, "tx-jitter")
    assert frame(jitter)[2] / frame(curve)[2] == pytest.approx(4 / 3, rel=1e-3)


def test_a_cap_is_drawn_to_scale_only_if_it_is_near():
    far, near = page(draw_delay_bar(planned(n=1))), page(draw_delay_bar(planned(n=6)))
    assert (len(with_class(far, "tx-cap")), len(with_class(near, "tx-cap"))) == (0, 1)
    assert "cap 1m \N{RIGHTWARDS ARROW}" in words(far)


def test_the_parts_come_from_a_recorded_decision():
    recorded = {"verdict": "retry", "delay": msgspec.to_builtins(planned(hint=10))}
    assert delay_parts(recorded) == planned(hint=10)
    assert delay_parts({"verdict": "fail"}) is None


@given(
    st.floats(0, 1e9), st.none() | st.floats(0, 1e9), st.none() | st.floats(0, 1e9), st.none() | st.floats(0, 1e9),
    st.none() | st.floats(0, 1e9),
)  # fmt: skip
def test_any_delay_stays_within_its_drawing(delay, curve, jittered, cap, hint):
    page(draw_delay_bar(DelayParts(delay, "curve", "fixed", 1, curve, jittered, cap, hint)))


@pytest.mark.parametrize(
    ("spent", "reserved", "limit", "unit", "expected"),
    [
        (1.2, 0.5, 5, "USD", "$1.20 of $5.00 spent, $0.50 reserved, $3.30 left"),
        (6, 0, 5, "USD", "$6.00 of $5.00 spent, $1.00 too much"),
        (0.0004, 0, 0.01, "USD", "$0.0004 of $0.01 spent, $0.0096 left"),
        (1200, 0, 5000, "tokens", "1,200 tokens of 5,000 tokens spent, 3,800 tokens left"),
        (0, 0, 0, "tokens", "0 tokens of 0 tokens spent, 0 tokens left"),
    ],
)
def test_a_budget(spent, reserved, limit, unit, expected):
    assert budget_words(spent, reserved, limit, unit) == expected
    root = page(draw_budget_bar(spent, reserved, limit, unit=unit))
    assert root.attrib["aria-label"] == expected
    assert bool(with_class(root, "tx-over")) == (spent > limit)
    assert bool(with_class(root, "tx-reserved")) == (reserved > 0)


def test_a_series_with_a_gap_is_two_lines():
    root = page(draw_sparkline([0.1, 0.5, None, 0.3, 0.2], name="failure rate"))
    assert root.attrib["aria-label"] == "failure rate: from 0.1 to 0.2, at most 0.5"
    assert root.attrib["role"] == "img"
    assert len(with_class(root, "tx-trend")) == 2
    [dot] = root.iter(f"{SVG}circle")
    assert float(dot.attrib["cx"]) == 117


def test_a_series_without_values():
    root = page(draw_sparkline([None, None], name="failure rate", unit="%"))
    assert root.attrib["aria-label"] == "failure rate: no values"
    assert not with_class(root, "tx-trend")


@given(st.lists(st.none() | st.floats(0, 1e12), max_size=40))
def test_a_series_stays_within_its_drawing(values):
    root = page(draw_sparkline(values, name="x"))
    for path in root.iter(f"{SVG}path"):
        numbers = [float(word.strip("MLz")) for word in path.attrib["d"].split() if word.strip("MLz")]
        assert all(0 <= x <= 120 for x in numbers[::2])
        assert all(0 <= y <= 28 for y in numbers[1::2])


def test_a_long_series_is_thinned_to_its_highest_values():
    svg = draw_sparkline([100.0 if n == 5000 else 1.0 for n in range(10_000)], name="x")
    [path] = with_class(page(svg), "tx-trend")
    assert path.attrib["d"].count("L") < MAX_POINTS
    assert min(float(point.split()[1]) for point in path.attrib["d"][1:].split(" L")) == 3
