"""Reads the `retryStrategy` of Argo: limit, policy, backoff and expression."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from tenax.dialects.native.policy import (
    EVERY_CLASS,
    FOREIGN,
    INFRASTRUCTURE,
    longest_delay,
    retries_words,
    with_delays,
)
from tenax.dialects.native.workflow import ForeignText
from tenax.dialects.reading.fields import Fields, as_number
from tenax.model.durations import LONGEST, parse_duration
from tenax.model.policy import Policy

_FAILED = tuple(name for name in EVERY_CLASS if name not in INFRASTRUCTURE)
_TRANSIENT = (
    "connection_refused", "connection_reset", "connection_dns", "connection_timeout", "connection_tls",
    "connection_unreachable", "http_429", "http_500", "http_502", "http_503", "http_504",
)  # fmt: skip
_POLICIES: Mapping[str, str] = {name: name for name in ("Always", "OnFailure", "OnError", "OnTransientError")}
_MOST_RETRIES = 10**9
_INFRA = "['worker_lost', 'worker_unavailable', 'queue_timeout']"
_TOKEN = re.compile(
    r"""(?P<int>(?:asInt|int)\(\s*lastRetry\.exitCode\s*\))|(?P<code>lastRetry\.exitCode)"""
    r"""|lastRetry\.status\s*(?P<same>==|!=)\s*['"](?P<state>Error|Failed|Succeeded)['"]"""
    r"""|(?P<text>'[^']*'|"[^"]*")|(?P<op>&&|\|\||!=|!)|(?P<rest>.)""",
    re.DOTALL | re.VERBOSE,
)
_NUMBER = re.compile(r"""(failure\.exit_code(?:\s*(?:==|!=|<=|>=|<|>|in|not in)\s*)\[?[^&|)\]]*)""")


def read_retry(strategy: Fields, defaults: Mapping[str, object]) -> Policy:
    """Returns the policy. `defaults` are the values of the workflow's parameters, for a limit that is one of them."""
    policy = _with_backoff(replace(FOREIGN, max_attempts=_attempts(strategy, defaults)), strategy)
    expression = strategy.text("expression")
    kind = strategy.one_of("retryPolicy", _POLICIES, "Always" if expression else "OnFailure")
    if expression and "retryPolicy" not in strategy:
        strategy.note("understood", "expression", "with an expression, the policy of Argo is Always")
    policy = _with_kind(policy, kind)
    if expression:
        policy = replace(policy, stop_when=_stop_when(strategy, expression))
    strategy.rest({"affinity": "is not carried over: any able worker runs the next attempt"})
    return policy


def _attempts(strategy: Fields, defaults: Mapping[str, object]) -> int | None:
    if "limit" not in strategy:
        strategy.note("changed", None, "no limit: max_attempts: unlimited")
        return None
    value = strategy.take("limit")
    if isinstance(value, str) and "{{" in value:
        name = value.strip("{} ").removeprefix("workflow.parameters.").removeprefix("inputs.parameters.")
        known = as_number(defaults.get(name))
        if known is None:
            strategy.note("dropped", "limit", f"`{value}` is not known before anything runs: max_attempts: 1")
            return 1
        strategy.note("changed", "limit", f"`{value}` is {known:g} by default, which is written out")
        value = known
    limit = as_number(value)
    if limit is None or limit != int(limit) or limit > _MOST_RETRIES:
        strategy.notes.mistake(
            (*strategy.path, "limit"), f"expected a whole number of retries up to {_MOST_RETRIES:,}"
        )
        return 1
    total = max(int(limit), 0) + 1
    strategy.note(
        "changed", "limit", f"{retries_words(int(limit))}: max_attempts: {total}, the first attempt included"
    )
    return total


def _with_backoff(policy: Policy, strategy: Fields) -> Policy:
    """Reads the delays. Without `backoff` the next attempt starts at once; without a factor all delays are the same."""
    if "backoff" not in strategy:
        return with_delays(policy, "none", 0.0, 0.0)
    backoff = strategy.sub("backoff")
    base = seconds_of(backoff, "duration")
    factor = backoff.number("factor", 0.0)
    cap = seconds_of(backoff, "cap") if "cap" in backoff else None
    if factor > 0:
        retries = LONGEST if policy.max_attempts is None else policy.max_attempts - 1
        longest = longest_delay(base, max(factor, 1.0), int(retries))
        policy = with_delays(
            policy, "exponential", base, longest if cap is None else cap, multiplier=max(factor, 1.0)
        )
    else:
        policy = with_delays(policy, "fixed", base, base if cap is None else cap)
    if "maxDuration" in backoff:
        total = seconds_of(backoff, "maxDuration")
        policy = replace(policy, give_up_after=total)
        backoff.note(
            "changed", "maxDuration", "the whole time of the retries: give_up_after, from the first enqueue"
        )
    backoff.rest()
    return policy


def seconds_of(fields: Fields, key: str) -> float:
    """Returns a duration as Argo writes it: `2m`, or a number of seconds."""
    text = fields.text(key, "0")
    try:
        return parse_duration(text)
    except ValueError as error:
        fields.notes.mistake((*fields.path, key), str(error))
        return 0.0


def _with_kind(policy: Policy, kind: str) -> Policy:
    """Sets which failures are retried. In Argo a node fails if its container exits with an error, and it has an error if the
    cluster loses it."""
    match kind:
        case "Always":
            return replace(policy, retry_on=EVERY_CLASS)
        case "OnError":
            return replace(policy, retry_on=INFRASTRUCTURE, never_on=_FAILED)
        case "OnTransientError":
            return replace(policy, retry_on=(*INFRASTRUCTURE, *_TRANSIENT), never_on=_FAILED)
        case _:
            return replace(policy, retry_on=_FAILED, never_on=INFRASTRUCTURE)


def _stop_when(strategy: Fields, expression: str) -> ForeignText:
    """Translates Argo's expression, which is true if Argo retries, into a condition that is true if Tenax does not."""
    made = "".join(
        _part(found) for found in _TOKEN.finditer(expression.strip().removeprefix("{{=").removesuffix("}}"))
    )
    made = _NUMBER.sub(lambda found: re.sub(r"""['"](-?\d+)['"]""", r"\1", found[0]), made)
    strategy.note(
        "changed", "expression", "what ends the retries is `stop_when`, the opposite of the expression"
    )
    return ForeignText(
        f"{{{{ not ({' '.join(made.split())}) }}}}", expression, (*strategy.path, "expression")
    )


def _part(found: re.Match[str]) -> str:
    if found["int"] or found["code"]:
        return "failure.exit_code"
    if found["state"]:
        is_error = (found["state"] == "Error") is (found["same"] == "==")
        return f"failure.class {'in' if is_error else 'not in'} {_INFRA}"
    if found["op"]:
        return {"&&": " and ", "||": " or ", "!=": "!=", "!": " not "}[found["op"]]
    return found[0]
