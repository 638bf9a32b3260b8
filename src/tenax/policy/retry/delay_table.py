"""Computes the table of a policy's delays: the least, nominal and greatest delay before each attempt. Describes a policy in words."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tenax.model.policy import Policy
from tenax.policy.retry.backoff import bounds, capped, decorrelated_bounds
from tenax.policy.retry.resolve import CompiledRule


@dataclass(frozen=True, slots=True)
class DelayRow:
    """Describes one attempt. Delays are seconds before it. The sums do not include the run time of attempts."""

    attempt: int
    least: float
    nominal: float
    most: float
    cumulative_least: float
    cumulative_nominal: float
    cumulative_most: float
    more: bool = False
    """Set in the last row if further attempts follow that are not shown."""


def delay_table(policy: Policy, *, limit: int = 20) -> list[DelayRow]:
    """Returns the attempts of a policy if all fail the same way, at most `limit`, and none that `give_up_after` rules
    out."""
    total = policy.max_attempts if policy.retryable else 1
    shown = limit if total is None else min(total, limit)
    rows = [DelayRow(1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)]
    previous: tuple[float, float, float] | None = None
    for attempt in range(2, shown + 2):
        previous = _delays(policy, attempt - 1, previous)
        row = _row(attempt, rows[-1], previous)
        if policy.give_up_after is not None and row.cumulative_least > policy.give_up_after:
            return rows
        if attempt > shown:
            break
        rows.append(row)
    if total is None or total > len(rows):
        rows[-1] = replace(rows[-1], more=True)
    return rows


def within_rule(policy: Policy, rule: CompiledRule) -> Policy:
    """Returns the policy that holds if every failure matches this rule of `policy`."""
    limits = [most for most in (policy.max_attempts, rule.rule.max_attempts) if most is not None]
    return replace(
        rule.delays,
        max_attempts=min(limits, default=None),
        retryable=policy.retryable and rule.rule.retry is not False,
        rules=(),
    )


def _delays(
    policy: Policy, n: int, previous: tuple[float, float, float] | None
) -> tuple[float, float, float]:
    """Returns the least, nominal and greatest delay after n failures. A decorrelated delay grows from
    the one before."""
    if policy.backoff != "decorrelated":
        middle = capped(policy, n)
        least, most = bounds(middle, policy.jitter, policy.max_delay)
        return least, middle, most
    _, expected, longest = previous or (0.0, None, None)
    least, most = decorrelated_bounds(policy, longest)
    low, high = decorrelated_bounds(policy, expected)
    return least, (low + high) / 2, most


def _row(attempt: int, before: DelayRow, delays: tuple[float, float, float]) -> DelayRow:
    least, nominal, most = delays
    return DelayRow(
        attempt,
        least,
        nominal,
        most,
        before.cumulative_least + least,
        before.cumulative_nominal + nominal,
        before.cumulative_most + most,
    )
