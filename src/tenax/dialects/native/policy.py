"""Writes policies with every field, so that no default of a workflow or a server changes what was imported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, get_args

from tenax.model.attempt.outcome import FAILURE_CLASSES, NEVER_RETRIED, FailureClass
from tenax.model.durations import LONGEST, duration_fields, format_duration, parse_duration
from tenax.model.policy import Jitter, Policy, Rule, rule_as_dict
from tenax.policy.retry.delay_table import delay_table

INFRASTRUCTURE: tuple[FailureClass, ...] = ("worker_lost", "worker_unavailable", "queue_timeout")
EVERY_CLASS: tuple[FailureClass, ...] = tuple(
    name for name in get_args(FailureClass) if name in FAILURE_CLASSES and name not in NEVER_RETRIED
)
"""All classes that can be retried."""
NO_OTHERS = Rule(on=EVERY_CLASS, retry=False)
"""The last rule of a list: no other failure is retried."""
FOREIGN = Policy(max_attempts=1, jitter=0.0, infra_attempts=0, honor_retry_after=False)
"""The policy that imports start from: strict counts, no jitter, and no `Retry-After`."""

_DURATIONS = duration_fields(Policy) | duration_fields(Rule)
_NOT_WRITTEN = ("attempt_cost", "forgives_only_lost")
_MOST_SHOWN = 12  # delays that a sentence lists


def policy_fields(policy: Policy) -> dict[str, Any]:
    """Returns the value of `retry`: every field that a file can give."""
    written: dict[str, Any] = {}
    for field in fields(Policy):
        value = getattr(policy, field.name)
        if field.name in _NOT_WRITTEN or (value is None and field.name != "max_attempts"):
            continue
        written[field.name] = _written(field.name, value)
    written["rules"] = [_rule(rule) for rule in policy.rules]
    return written


def _rule(rule: Rule) -> dict[str, Any]:
    return {name: _written(name, value) for name, value in rule_as_dict(rule).items()}


def _written(name: str, value: Any) -> Any:
    if name == "max_attempts" and value is None:
        return "unlimited"
    if name in _DURATIONS:
        return duration(value)
    if isinstance(value, tuple):
        return list(value)
    return value


def duration(seconds: float) -> str | float:
    """Returns a duration as files have it: `30s`, `250ms`, or a number of seconds."""
    for text in (f"{seconds:.0f}s", f"{seconds * 1000:.0f}ms"):
        if parse_duration(text) == seconds:
            return text
    return seconds


def with_delays(
    policy: Policy,
    backoff: str,
    initial: float,
    cap: float,
    *,
    multiplier: float = 2.0,
    jitter: Jitter = 0.0,
) -> Policy:
    """Returns the policy with this curve. A first delay beyond the cap is cut, as the cap cuts it."""
    cap = min(cap, LONGEST)
    changed: dict[str, Any] = {
        "backoff": backoff,
        "initial_delay": min(initial, cap),
        "max_delay": cap,
        "backoff_multiplier": multiplier,
        "jitter": jitter,
    }
    return replace(policy, **changed)


def schedule_words(policy: Policy) -> str:
    """Describes the attempts and delays of a policy in a sentence. Each rule with a limit has its own."""
    limited = [rule for rule in policy.rules if rule.retry and rule.max_attempts is not None]
    if not limited or not policy.retryable:
        return _schedule_words(policy)
    parts = [f"{_words_of_rule(rule)}: {_schedule_words(_under(policy, rule))}" for rule in limited]
    return "; ".join(parts)


def _words_of_rule(rule: Rule) -> str:
    if rule.when is not None:
        return f"when {rule.when}"
    return "after any failure" if set(rule.on) >= set(EVERY_CLASS) else f"after {', '.join(rule.on)}"


def _under(policy: Policy, rule: Rule) -> Policy:
    """Returns the policy for failures to which a rule applies."""
    own = {key: value for key, value in rule_as_dict(rule).items() if key not in ("on", "when", "retry")}
    return replace(policy, rules=(), **own)


def _schedule_words(policy: Policy) -> str:
    if policy.max_attempts == 1 or not policy.retryable:
        return "1 attempt"
    rows = delay_table(policy, limit=_MOST_SHOWN + 1)[1:]
    delays = [format_duration(row.nominal) for row in rows]
    total = policy.max_attempts
    if total is None or total - 1 > len(delays):
        delays.append("...")
    count = "unlimited attempts" if total is None else f"{total} attempts"
    extra = f", jitter {policy.jitter}" if policy.jitter else ""
    given_up = f", given up after {format_duration(policy.give_up_after)}" if policy.give_up_after else ""
    return f"{count} with delays of {', '.join(delays)}{extra}{given_up}"


def retries_words(count: int) -> str:
    return f"{count} {'retry' if count == 1 else 'retries'}"


def longest_delay(initial: float, rate: float, retries: int) -> float:
    """Returns the last delay of an exponential curve without a cap."""
    try:
        return min(max(initial * rate ** max(retries - 1, 0), initial), LONGEST)
    except OverflowError:
        return LONGEST


def exit_reasons(codes: Sequence[int]) -> tuple[str, ...]:
    """Returns the reasons of exit codes. A container gives 128 + N for signal N, and a process here the signal itself."""
    found: list[str] = []
    for code in codes:
        found.append(f"exit_code_{code}")
        if 128 < code <= 192:
            found.append(f"signal_{code - 128}")
        if code == 137:
            found.append("oom_killed")
    return tuple(found)
