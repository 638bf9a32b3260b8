"""Describes retry policies in words: in one line, and as sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tenax.drawing.graph_words import printable_line
from tenax.model.durations import format_duration
from tenax.model.policy import Policy
from tenax.policy.retry.resolve import CompiledRule


def policy_words(policy: Policy) -> str:
    """Describes a policy in one line."""
    if _is_tried_once(policy):
        return "1 attempt, no retries"
    attempts = "unlimited attempts" if policy.max_attempts is None else f"{policy.max_attempts} attempts"
    parts = [attempts, *_curve_words(policy)]
    if policy.give_up_after is not None:
        parts.append(f"given up after {format_duration(policy.give_up_after)}")
    return printable_line(", ".join(parts))


def rule_words(rule: CompiledRule) -> str:
    """Says which failures a rule matches, as its author wrote it."""
    matches = f"on {', '.join(rule.rule.on)}" if rule.rule.when is None else f"when {rule.rule.when}"
    return printable_line(" ".join(matches.split()))


def changes_schedule(policy: Policy, within: Policy) -> bool:
    """Returns whether the attempts or the delays are others if every failure matches the rule that `within` is of."""
    return _without_hints(within) != _without_hints(policy)


def policy_sentences(policy: Policy) -> Iterator[str]:
    """Describes a policy in full: how often, after which failures, after which delays, and until when."""
    yield _attempts_sentence(policy)
    yield from _loss_sentences(policy)
    if _is_tried_once(policy):
        return
    yield _delay_sentence(policy)
    yield from _failure_sentences(policy)
    if policy.give_up_after is not None:
        yield f"No retry starts later than {format_duration(policy.give_up_after)} after the first enqueue."
    if policy.honor_retry_after:
        yield f"A callee's Retry-After is honoured up to {format_duration(policy.max_retry_after)}."
    else:
        yield "A callee's Retry-After is not honoured."
    if policy.attempt_cost is not None:
        yield f"An attempt that reports no cost is charged ${policy.attempt_cost:g}."


def _is_tried_once(policy: Policy) -> bool:
    return not policy.retryable or policy.max_attempts == 1


def _attempts_sentence(policy: Policy) -> str:
    if not policy.retryable:
        return "It is tried once: retryable is false."
    if policy.max_attempts == 1:
        return "It is tried once."
    if policy.max_attempts is None:
        return "It is tried until it succeeds: there is no limit of attempts."
    return f"It is tried {policy.max_attempts:,} times at most, the first attempt included."


def _loss_sentences(policy: Policy) -> Iterator[str]:
    if not policy.retryable or policy.max_attempts is None:
        return
    if policy.infra_attempts == 0:
        yield "An attempt that is lost with its worker counts too."
        return
    lost = "lost with their worker" if policy.forgives_only_lost else "lost to infrastructure"
    yield f"The first {policy.infra_attempts} attempts that are {lost} do not count."


def _delay_sentence(policy: Policy) -> str:
    if policy.backoff == "none":
        return "Retries start at once."
    first, cap = format_duration(policy.initial_delay), format_duration(policy.max_delay)
    match policy.backoff:
        case "fixed":
            return f"It waits {first} before each retry{_jitter_words(policy)}."
        case "linear":
            growth = f"{first} longer before each further one"
        case "exponential":
            growth = f"{_times(policy.backoff_multiplier)} as long before each further one"
        case "fibonacci":
            growth = "then as long as the two delays before together"
        case "decorrelated":
            return f"It waits at random between {first} and three times the delay before, {cap} at most."
    return f"It waits {first} before the first retry, {growth}, {cap} at most{_jitter_words(policy)}."


def _times(factor: float) -> str:
    return "twice" if factor == 2 else f"{factor:g} times"


def _jitter_words(policy: Policy) -> str:
    match policy.jitter:
        case "full":
            return "; jitter draws each delay between nothing and that"
        case "equal":
            return "; jitter draws each delay between half of that and that"
        case float() | int() if policy.jitter:
            return f"; jitter makes each delay up to {100 * policy.jitter:g} % shorter or longer"
        case _:
            return ", without jitter"


def _failure_sentences(policy: Policy) -> Iterator[str]:
    if policy.retry_when is not None:
        yield f"Whether a failure is retried, the condition decides: {policy.retry_when}"
    if policy.stop_when is not None:
        yield f"There is no further retry when: {policy.stop_when}"
    if policy.retry_on:
        yield f"Also retried: {', '.join(policy.retry_on)}."
    if policy.never_on:
        yield f"Never retried: {', '.join(policy.never_on)}."


def _without_hints(policy: Policy) -> Policy:
    """Returns the policy without what changes neither attempts nor delays of the table."""
    return replace(policy, rules=(), honor_retry_after=True, max_retry_after=0.0)


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
    if isinstance(policy.jitter, str):
        return policy.jitter
    return f"{policy.jitter:g}" if policy.jitter else "none"
