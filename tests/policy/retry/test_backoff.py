from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.model.policy import Policy
from tenax.policy.retry.backoff import curve, decorrelated_bounds, plan_delay

BACKOFFS = ("none", "fixed", "linear", "exponential", "fibonacci", "decorrelated")


def delay_of(policy, n=1, roll=0.5, **options):
    return plan_delay(policy, n=n, previous=options.pop("previous", None), roll=roll, **options)


@pytest.mark.parametrize(
    ("backoff", "delays"),
    [
        ("none", [0, 0, 0, 0, 0, 0]),
        ("fixed", [2, 2, 2, 2, 2, 2]),
        ("linear", [2, 4, 6, 8, 10, 12]),
        ("exponential", [2, 6, 18, 54, 162, 486]),
        ("fibonacci", [2, 2, 4, 6, 10, 16]),
    ],
)
def test_the_curves(backoff, delays):
    policy = Policy(backoff=backoff, initial_delay=2.0, backoff_multiplier=3.0)
    assert [curve(policy, n) for n in range(1, 7)] == delays


@pytest.mark.parametrize(
    ("jitter", "least", "most"),
    [(0.0, 10, 10), (0.2, 8, 12), (0.5, 5, 15), (1.0, 0, 20), ("full", 0, 10), ("equal", 5, 10)],
)
def test_the_kinds_of_jitter(jitter, least, most):
    policy = Policy(backoff="fixed", initial_delay=10.0, jitter=jitter)
    assert delay_of(policy, roll=0.0).delay == pytest.approx(least)
    assert delay_of(policy, roll=0.5).delay == pytest.approx((least + most) / 2)
    assert delay_of(policy, roll=math.nextafter(1, 0)).delay == pytest.approx(most)


def test_at_the_cap_draws_are_spread_below_it():
    policy = Policy(initial_delay=1.0, max_delay=60.0, jitter=0.5)
    draws = [delay_of(policy, n=50, roll=k / 1000).delay for k in range(1000)]
    assert len(set(draws)) == 1000
    assert min(draws) == 30
    assert max(draws) < 60
    assert sum(draws) / 1000 == pytest.approx(45, abs=0.1)


def test_decorrelated_grows_from_the_previous_delay():
    policy = Policy(backoff="decorrelated", initial_delay=1.0, max_delay=10.0, jitter=0.9)
    assert decorrelated_bounds(policy, None) == (1, 3)
    assert decorrelated_bounds(policy, 2.0) == (1, 6)
    assert decorrelated_bounds(policy, 8.0) == (1, 10)
    assert decorrelated_bounds(policy, 0.1) == (1, 1)
    assert delay_of(policy, previous=2.0, roll=0.5).delay == 3.5


def test_retry_after_is_a_floor_with_jitter_upward():
    policy = Policy(initial_delay=1.0, jitter=0.2)
    low, high = (delay_of(policy, hint=30.0, roll=roll) for roll in (0.0, 0.5))
    assert (low.delay, high.delay, low.source) == (30.0, 33.0, "retry_after")
    assert delay_of(policy, hint=30.0, roll=0.5).jittered == 1.0
    assert delay_of(policy, hint=0.1).source == "curve"
    assert delay_of(Policy(jitter=0.0), hint=30.0, roll=0.9).delay == 30
    assert delay_of(Policy(jitter="full"), hint=30.0, roll=0.5).delay == 37.5
    assert delay_of(Policy(jitter=0.0, max_retry_after=10.0), hint=1e9).delay == 10
    assert delay_of(Policy(jitter=0.0, honor_retry_after=False), hint=30.0).delay == 1
    assert delay_of(Policy(jitter=0.0, max_delay=5.0), hint=30.0).delay == 30


def test_a_handlers_word_replaces_the_curve():
    policy = Policy(initial_delay=50.0, max_retry_after=100.0, honor_retry_after=False)
    assert delay_of(policy, after=7.0, hint=30.0).delay == 7
    assert delay_of(policy, after=7000.0).delay == 100
    assert delay_of(policy, after=0.0).delay == 0
    assert delay_of(policy, after=7.0).source == "handler"


durations = st.floats(0, 3e9)
policies = st.builds(
    Policy,
    backoff=st.sampled_from(BACKOFFS),
    initial_delay=durations | st.integers(0, 100),
    backoff_multiplier=st.floats(1, 1e300) | st.integers(1, 10**300),
    max_delay=durations,
    jitter=st.floats(0, 1) | st.sampled_from(["full", "equal"]),
)
rolls = st.floats(0, 1, exclude_max=True)


@given(policies, st.integers(1, 10**9) | st.just(10**400), st.none() | durations, rolls)
def test_the_cap_holds_after_jitter_for_any_n(policy, n, previous, roll):
    delay = plan_delay(policy, n=n, previous=previous, roll=roll).delay
    assert 0 <= delay <= policy.max_delay


@given(policies, st.integers(1, 10**6))
def test_curves_never_shrink(policy, n):
    assert curve(policy, n) <= curve(policy, n + 1)


@given(st.floats(0, 1, exclude_min=True), st.floats(0.01, 1e6), rolls, rolls)
def test_draws_do_not_pile_up_on_the_cap(factor, cap, one, other):
    policy = Policy(initial_delay=1e9, max_delay=cap, jitter=factor)
    first, second = delay_of(policy, n=9, roll=one).delay, delay_of(policy, n=9, roll=other).delay
    if abs(one - other) * factor > 1e-9:
        assert first != second
