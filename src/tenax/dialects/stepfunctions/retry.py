"""Reads the `Retry` and `Catch` of Step Functions: lists of which the first entry that names the error decides."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from tenax.dialects.native.policy import (
    EVERY_CLASS,
    FOREIGN,
    INFRASTRUCTURE,
    NO_OTHERS,
    longest_delay,
    retries_words,
)
from tenax.dialects.reading.fields import Fields
from tenax.model.durations import LONGEST
from tenax.model.policy import Policy, Rule

ALL = "States.ALL"
_FAILED = tuple(name for name in EVERY_CLASS if name != "timeout")
_MOST_ATTEMPTS = 99_999_999
_NAMED = {
    ALL: EVERY_CLASS,
    "States.TaskFailed": _FAILED,
    "States.Timeout": ("timeout",),
    "States.HeartbeatTimeout": ("timeout",),
    "States.Permissions": ("denied",),
    "States.Runtime": ("invalid",),
    "States.DataLimitExceeded": ("invalid",),
    "States.ResultPathMatchFailure": ("invalid",),
    "States.ParameterPathFailure": ("invalid",),
    "States.QueryEvaluationError": ("invalid",),
    "States.IntrinsicFailure": ("invalid",),
    "States.NoChoiceMatched": ("invalid",),
    "States.BranchFailed": ("child_failed",),
    "States.ItemReaderFailed": ("invalid",),
    "States.ExceedToleratedFailureThreshold": ("child_failed",),
    "States.Http.Socket": (
        "connection_refused",
        "connection_reset",
        "connection_timeout",
        "connection_failed",
    ),
    "Lambda.ServiceException": INFRASTRUCTURE,
    "Lambda.AWSLambdaException": INFRASTRUCTURE,
    "Lambda.SdkClientException": INFRASTRUCTURE,
    "Lambda.ClientExecutionTimeoutException": ("timeout",),
    "Lambda.TooManyRequestsException": ("http_429", "queue_timeout"),
    "Lambda.Unknown": ("transient", "worker_lost"),
}
_STATUS = re.compile(r"States\.Http\.StatusCode\.([1-9]\d\d)")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")


def read_retry(state: Fields) -> Policy:
    """Returns the policy of a state: a rule for each entry of `Retry`, and no retry of any other error."""
    retriers = state.each("Retry") if "Retry" in state else []
    rules = [_rule(one) for one in retriers]
    rules = [rule for rule in rules if rule.on]
    if not rules:
        return FOREIGN
    retries = sum((rule.max_attempts or 1) - 1 for rule in rules)
    policy = _like(next((rule for rule in rules if rule.retry), rules[0]))
    policy = replace(policy, max_attempts=min(retries + 1, 10 * _MOST_ATTEMPTS))
    if len(rules) == 1 and set(rules[0].on) >= set(EVERY_CLASS):
        return replace(policy, retry_on=EVERY_CLASS)
    if any(set(rule.on) >= set(EVERY_CLASS) for rule in rules):
        return replace(policy, rules=tuple(rules))
    return replace(policy, rules=(*rules, NO_OTHERS))


def _like(rule: Rule) -> Policy:
    """Returns a policy with the delays of a rule."""
    if not rule.retry:
        return FOREIGN
    return replace(
        FOREIGN,
        initial_delay=rule.initial_delay or 0.0,
        max_delay=rule.max_delay or 0.0,
        backoff_multiplier=rule.backoff_multiplier or 2.0,
        jitter=rule.jitter or 0.0,
    )


def _rule(retrier: Fields) -> Rule:
    names = error_names(retrier)
    retries = min(retrier.whole("MaxAttempts", 3), _MOST_ATTEMPTS)
    interval = retrier.seconds("IntervalSeconds", 1.0)
    rate = max(retrier.number("BackoffRate", 2.0), 1.0)
    cap = longest_delay(interval, rate, retries)
    if "MaxDelaySeconds" in retrier:
        cap = min(cap, retrier.seconds("MaxDelaySeconds"))
    full = retrier.one_of("JitterStrategy", {"NONE": "none", "FULL": "full"}, "NONE") == "full"
    retrier.ignore("Comment")
    retrier.rest()
    listed = ", ".join(map(str, retrier.listed("ErrorEquals")))
    if retries < 1:
        retrier.note("understood", "MaxAttempts", f"{listed}: no retry")
        return Rule(on=names, retry=False)
    retrier.note(
        "changed",
        "MaxAttempts",
        f"{listed}: {retries_words(retries)}, so max_attempts: {retries + 1} in this rule",
    )
    return Rule(
        on=names,
        retry=True,
        max_attempts=retries + 1,
        backoff="exponential",
        initial_delay=min(interval, cap, LONGEST),
        backoff_multiplier=rate,
        max_delay=min(cap, LONGEST),
        jitter="full" if full else 0.0,
    )


def error_names(fields: Fields) -> tuple[str, ...]:
    """Returns the classes and reasons of the errors that an entry names."""
    found: list[str] = []
    for index, name in enumerate(map(str, fields.listed("ErrorEquals"))):
        if name in _NAMED:
            found += _NAMED[name]
        elif status := _STATUS.fullmatch(name):
            found.append(f"http_{status[1]}")
        elif _NAME.fullmatch(name) and len(name) <= 200:
            found.append(f"exception_{name}")
            sentence = f"the error `{name}` is an exception of this name, which the task raises"
            fields.notes.add("changed", (*fields.path, "ErrorEquals", index), sentence)
        else:
            fields.notes.add(
                "dropped", (*fields.path, "ErrorEquals", index), f"`{name}` cannot be the name of an error"
            )
    return tuple(dict.fromkeys(found))


def caught_words(names: Sequence[str], failure: str) -> str | None:
    """Returns the condition by which a `Catch` names the failure of a step. Returns None if it names every failure."""
    if set(names) >= set(EVERY_CLASS):
        return None
    classes = [name for name in names if name in EVERY_CLASS]
    reasons = [name for name in names if name not in EVERY_CLASS]
    words = []
    if classes:
        words.append(f"{failure}.class in {_list(classes)}")
    if reasons:
        words.append(f"{failure}.reason in {_list(reasons)}")
    return " or ".join(words) or "false"


def _list(names: Sequence[str]) -> str:
    return "[" + ", ".join(f"'{name}'" for name in names) + "]"
