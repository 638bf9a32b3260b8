"""Describes a retry policy in words."""

from __future__ import annotations

from tenax.model.durations import format_duration
from tenax.model.policy import Policy


def policy_words(policy: Policy) -> str:
    """Describes a policy in one line."""
    if not policy.retryable or policy.max_attempts == 1:
        return "1 attempt, no retries"
    attempts = "unlimited attempts" if policy.max_attempts is None else f"{policy.max_attempts} attempts"
    parts = [attempts, *_curve_words(policy)]
    if policy.give_up_after is not None:
        parts.append(f"given up after {format_duration(policy.give_up_after)}")
    return ", ".join(parts)


def _curve_words(policy: Policy) -> list[str]:
    if policy.backoff == "none":
        return ["no delays"]
    curve = f"{policy.backoff} backoff from {format_duration(policy.initial_delay)}"
    if policy.backoff == "exponential":
        curve += f" by {policy.backoff_multiplier:g}"
    return [curve, f"at most {format_duration(policy.max_delay)}", f"jitter {_jitter(policy)}"]


def _jitter(policy: Policy) -> str:
    if policy.backoff == "decorrelated":
        return "of its own"
    return (
        policy.jitter
        if isinstance(policy.jitter, str)
        else (f"{policy.jitter:g}" if policy.jitter else "none")
    )
