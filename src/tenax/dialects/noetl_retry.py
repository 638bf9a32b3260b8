"""Reads the retry settings of NoETL, in the forms of all its generations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tenax.dialects.native.policy import EVERY_CLASS, FOREIGN, NO_OTHERS, with_delays
from tenax.dialects.native.workflow import ForeignText
from tenax.dialects.reading.fields import Fields
from tenax.model.policy import Policy, Rule
from tenax.policy.expressions.compiler import ExpressionError
from tenax.policy.expressions.conditions import compile_condition, unknown_fields

_ATTEMPTS = 3
_WORDS = ((r"response\.status_code", "status_code"), (r"error\.status", "status_code"))
"""Patterns of words in conditions, and the words for them here."""
_FIELDS = ("max_attempts", "initial_delay", "backoff_multiplier", "max_delay", "jitter")


def read_retry(step: Fields) -> Policy:
    """Returns the policy of a step: `retry: true`, a number of attempts, a mapping, or a list of conditions."""
    value = step.take("retry")
    match value:
        case None | False:
            if value is False:
                step.note("changed", "retry", "false: max_attempts: 1")
            return FOREIGN
        case True:
            return replace(_policy(Fields(step.notes, (*step.path, "retry"), {})), retry_on=EVERY_CLASS)
        case int():
            return replace(
                _policy(Fields(step.notes, (*step.path, "retry"), {"max_attempts": value})),
                retry_on=EVERY_CLASS,
            )
        case dict():
            return _of_mapping(step.sub("retry"))
        case list():
            return _of_list(step.each("retry"))
        case _:
            step.notes.mistake((*step.path, "retry"), "expected true, false, a number, a mapping or a list")
            return FOREIGN


def _of_mapping(retry: Fields) -> Policy:
    policy = _policy(retry)
    stop, when = condition_of(retry, "stop_when"), condition_of(retry, "retry_when")
    retry.rest({"on_error": "is not carried over"})
    if when is None:
        retry.note(
            "understood", None, "without retry_when every error is retried, so retry_on names all classes"
        )
    return replace(policy, retry_when=when, stop_when=stop, retry_on=() if when is not None else EVERY_CLASS)


def _policy(retry: Fields) -> Policy:
    """Reads attempts and delays. The attempts are a total, and the delays are seconds."""
    base = retry.seconds("initial_delay", 1.0)
    cap = retry.seconds("max_delay", 60.0)
    growth = retry.number("backoff_multiplier", 2.0)
    if base > cap:
        retry.note("changed", "initial_delay", "is longer than max_delay, which caps it")
    if growth < 1:
        retry.note("changed", "backoff_multiplier", f"{growth:g}: delays do not shrink here, so it is 1")
    total = retry.whole("max_attempts", _ATTEMPTS)
    if total < 1:
        retry.note("changed", "max_attempts", f"{total}: the first attempt always runs, so max_attempts: 1")
    curve = with_delays(FOREIGN, "exponential", base, cap, multiplier=max(growth, 1.0), jitter=_jitter(retry))
    return replace(curve, max_attempts=max(total, 1))


def _jitter(retry: Fields) -> float:
    """Returns the jitter. `true`, the default, is half to one and a half times the delay."""
    value = retry.take("jitter", True)
    if isinstance(value, bool):
        return 0.5 if value else 0.0
    return min(max(retry.number("jitter"), 0.0), 1.0)


def condition_of(retry: Fields, key: str, words: Sequence[tuple[str, str]] = _WORDS) -> str | None:
    """Returns a condition. `words` are patterns of its words, and the words for them here. Without a counterpart it is left
    out, and reported."""
    if key not in retry:
        return None
    text = written = retry.text(key)
    for pattern, own in words:
        written = re.sub(pattern, own, written)
    try:
        faults = unknown_fields(compile_condition(written))
    except ExpressionError as error:
        faults = [str(error)]
    if faults:
        retry.note("dropped", key, f"`{text}` has no counterpart: {faults[0]}")
        return None
    if written != text:
        retry.note("changed", key, f"becomes `{written}`")
    return ForeignText(written, text, (*retry.path, key))


def _of_list(entries: list[Fields]) -> Policy:
    """Reads a list of `{when, then}`: the first condition that is true decides. No other failure is retried."""
    rules: list[Rule] = []
    policies: list[Policy] = []
    for entry in entries:
        when = condition_of(entry, "when")
        then = entry.sub("then") if "then" in entry else entry
        if not any(key in then for key in _FIELDS):
            then.note("dropped", None, "is no retry: pages are fetched by `until` here")
            then.ignore(*then.data)
            entry.rest()
            continue
        policy = _policy(then)
        then.rest(
            dict.fromkeys(
                ("next_call", "collect", "sink"), "is not carried over: pages are fetched by `until` here"
            )
        )
        entry.rest()
        if (
            when is not None or "when" not in entry
        ):  # NoETL skips an entry whose condition cannot be evaluated
            rules.append(_rule(when, policy))
            policies.append(policy)
    if not rules:
        return FOREIGN
    total = 1 + sum((policy.max_attempts or 1) - 1 for policy in policies)
    longest = max(policies, key=lambda policy: policy.max_delay)
    return replace(longest, max_attempts=total, rules=(*rules, NO_OTHERS))


def _rule(when: str | None, policy: Policy) -> Rule:
    chosen: dict[str, Any] = {"when": when} if when is not None else {"on": EVERY_CLASS}
    return Rule(
        **chosen,
        retry=True,
        max_attempts=policy.max_attempts,
        backoff=policy.backoff,
        initial_delay=policy.initial_delay,
        backoff_multiplier=policy.backoff_multiplier,
        max_delay=policy.max_delay,
        jitter=policy.jitter,
    )
