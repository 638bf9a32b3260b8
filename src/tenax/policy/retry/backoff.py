"""Computes delays: the curve, its jitter within the cap, and the delay that the callee or the handler asked for."""

from __future__ import annotations

import math

from tenax.model.decision import DelayParts
from tenax.model.policy import Jitter, Policy

_HINT_WIDTH = 0.5
"""Spread above a `Retry-After`, as a factor, for the kinds of jitter without a factor (`full`, `equal`)."""


def _fibonacci() -> tuple[float, ...]:
    """Yields every Fibonacci number that a float can hold: 1, 1, 2, 3, 5, ..."""
    numbers = [0.0, 1.0]
    while math.isfinite(following := numbers[-1] + numbers[-2]):
        numbers.append(following)
    return tuple(numbers)


_FIBONACCI = _fibonacci()


def curve(policy: Policy, n: int) -> float:
    """Returns the delay after n counted failures, before cap and jitter. It is infinite if a float cannot hold it. For
    `decorrelated` it is the least delay: the rest is drawn."""
    base = float(
        policy.initial_delay
    )  # a policy read from a database may contain integers, whose powers would be exact and huge
    if policy.backoff == "none" or base <= 0:
        return 0.0
    n = max(n, 1)
    try:
        match policy.backoff:
            case "linear":
                return base * n
            case "exponential":
                return base * float(policy.backoff_multiplier) ** (n - 1)
            case "fibonacci":
                return base * _FIBONACCI[n] if n < len(_FIBONACCI) else math.inf
            case _:
                return base
    except OverflowError:
        return math.inf


def capped(policy: Policy, n: int) -> float:
    return min(curve(policy, n), policy.max_delay)


def bounds(delay: float, jitter: Jitter, cap: float) -> tuple[float, float]:
    """Returns the least and the greatest delay that jitter makes of a delay within the cap. The range ends at the cap,
    so that draws are spread below it and never clamped to it."""
    if isinstance(jitter, str):
        return (0.0 if jitter == "full" else delay / 2), delay
    least = delay * (1 - jitter)
    return least, max(min(delay * (1 + jitter), cap), least)


def decorrelated_bounds(policy: Policy, previous: float | None) -> tuple[float, float]:
    """Returns the range from the initial delay to three times the previous delay, within the cap."""
    least = min(policy.initial_delay, policy.max_delay)
    most = 3 * (policy.initial_delay if previous is None else previous)
    return least, max(least, min(most, policy.max_delay))


def draw(least: float, most: float, roll: float) -> float:
    return min(least + (most - least) * roll, most)


def plan_delay(
    policy: Policy,
    *,
    n: int,
    previous: float | None,
    roll: float,
    hint: float | None = None,
    after: float | None = None,
) -> DelayParts:
    """Returns the delay before the next attempt, with its parts. `hint` is the `Retry-After`, and `after` the handler's
    own request."""
    if after is not None:
        ceiling = policy.max_retry_after
        return DelayParts(min(max(after, 0.0), ceiling), "handler", hint=after, hint_cap=ceiling)
    cap = policy.max_delay
    if policy.backoff == "decorrelated":
        middle = jittered = draw(*decorrelated_bounds(policy, previous), roll)
    else:
        middle = capped(policy, n)
        jittered = draw(*bounds(middle, policy.jitter, cap), roll)
    if hint is None or not policy.honor_retry_after:
        return DelayParts(jittered, "curve", policy.backoff, n, middle, jittered, cap, hint, None, roll)
    ceiling = policy.max_retry_after
    floor = min(hint, ceiling)
    if jittered < floor:
        delay = floor * (1 + _upward_width(policy) * roll)
        return DelayParts(delay, "retry_after", policy.backoff, n, middle, jittered, cap, hint, ceiling, roll)
    return DelayParts(jittered, "curve", policy.backoff, n, middle, jittered, cap, hint, ceiling, roll)


def _upward_width(policy: Policy) -> float:
    return _HINT_WIDTH if isinstance(policy.jitter, str) else policy.jitter
