"""The schedule of a policy as a picture, and as text."""

from itertools import pairwise

import pytest
from support.drawings.markup import SVG, frame, page, titles, with_class, words

from tenax.drawing.figures.delay_curve import MAX_SHOWN, delay_lines, draw_delay_curve, schedule_words
from tenax.model.policy import Policy
from tenax.policy.retry.delay_table import delay_table

DOUBLING = Policy(
    max_attempts=6, initial_delay=1, backoff="exponential", backoff_multiplier=2, max_delay=60, jitter=0.25
)
STEEP = Policy(
    max_attempts=None,
    initial_delay=1,
    backoff="exponential",
    backoff_multiplier=3,
    max_delay=86400,
    jitter="full",
)
ONCE = Policy(max_attempts=1)


def test_a_bar_for_each_retry_from_the_least_to_the_longest_delay():
    root = page(draw_delay_curve(delay_table(DOUBLING)))
    bars = with_class(root, "tx-retry")
    assert titles(bars)[2] == "before attempt 4: 3s to 5s, nominally 4s"
    heights = [frame(bar.find(f"{SVG}rect")) for bar in bars]
    assert len(heights) == 5
    assert all(one[1] > other[1] and one[2] < other[0] for one, other in pairwise(heights))
    tall = [bottom - top for _, top, _, bottom in heights]
    assert tall[4] / tall[3] == pytest.approx(2, rel=0.01)
    assert root.attrib["aria-label"] == "6 attempts, delays of 23.25s to 38.75s in all"
    assert {"5s", "10s", "15s", "20s"} <= set(words(root))


def test_delays_of_seconds_and_days_are_on_a_logarithmic_scale():
    root = page(draw_delay_curve(delay_table(STEEP, limit=100)))
    assert len(with_class(root, "tx-retry")) == MAX_SHOWN
    assert any(text.endswith("logarithmic scale") for text in words(root))
    assert {"5s", "1h"} <= set(words(root))


@pytest.mark.parametrize("backoff", ["none", "fixed", "linear", "exponential", "fibonacci", "decorrelated"])
@pytest.mark.parametrize("jitter", [0.0, 0.5, "full", "equal"])
def test_any_policy_is_drawn(backoff, jitter):
    rows = delay_table(
        Policy(max_attempts=8, initial_delay=0.5, backoff=backoff, max_delay=30, jitter=jitter)
    )
    page(draw_delay_curve(rows))
    assert len(delay_lines(rows)) == 7


def test_without_retries_there_is_only_a_text():
    assert words(page(draw_delay_curve(delay_table(ONCE)))) == ["1 attempt, no retries"]
    assert delay_lines(delay_table(ONCE)) == []
    assert schedule_words(delay_table(STEEP)).startswith("20 attempts and more")


def test_lines_for_a_terminal():
    assert delay_lines(delay_table(DOUBLING), width=21) == [
        "2   |                     1s",
        "3    |                    2s",
        "4     =|=                 4s",
        "5        ==|==            8s",
        "6              ====|====  16s",
    ]
