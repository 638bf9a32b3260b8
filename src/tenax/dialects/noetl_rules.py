"""Reads the retries of newer playbooks of NoETL: `spec: {policy: {rules: [{when, then: {do: retry, ...}}]}}` of a tool."""

from __future__ import annotations

from dataclasses import replace

from tenax.dialects.native.policy import EVERY_CLASS, FOREIGN, NO_OTHERS, longest_delay
from tenax.dialects.noetl_retry import condition_of
from tenax.dialects.reading.fields import Fields
from tenax.model.durations import LONGEST
from tenax.model.policy import Backoff, Policy, Rule

_ATTEMPTS = 3
_DELAY = 1.0  # seconds
_BACKOFFS = {"none": "none", "linear": "linear", "exponential": "exponential"}
_ACTIONS = {name: name for name in ("retry", "fail", "continue", "break", "jump")}
_OUTPUT: tuple[tuple[str, str], ...] = (
    (r"output\.status\s*==\s*(['\"])error\1", "error != None"),
    (r"output\.status\s*!=\s*(['\"])ok\1", "error != None"),
    (r"output\.status\s*==\s*(['\"])ok\1", "error == None"),
    (r"output\.error\.retryable", "failure.class in ['transient', 'timeout']"),
    (r"output\.error\.message", "error"),
    (r"output\.http\.status(_code)?\b", "status_code"),
    (r"output\.data\b", "data"),
    (r"\b_attempt\b|output\.meta\.attempt\b", "attempt"),
)
"""What conditions say of the output of a tool, and the words for it here."""


def has_rules(tool: Fields) -> bool:
    """Returns whether a tool has rules for its errors."""
    spec = tool.data.get("spec")
    return isinstance(spec, dict) and isinstance(spec.get("policy"), dict) and "rules" in spec["policy"]


def read_rules(tool: Fields) -> Policy:
    """Returns the policy of a tool: the first rule that is true decides, and an error that none names is not retried."""
    spec = tool.sub("spec")
    policy = spec.sub("policy")
    rules = [rule for one in policy.each("rules") if (rule := _rule(one)) is not None]
    policy.rest()
    spec.rest({"timeout": "is not carried over: give the step a `timeout`"})
    retries = [rule for rule in rules if rule.retry]
    if not retries:
        return FOREIGN
    total = 1 + sum((rule.max_attempts or 1) - 1 for rule in retries)
    last = () if rules[-1].on else (NO_OTHERS,)
    return replace(FOREIGN, max_attempts=total, rules=(*rules, *last))


def _rule(entry: Fields) -> Rule | None:
    """Returns the rule of an entry. Returns None if its condition has no counterpart: the entry is skipped then."""
    otherwise = "else" in entry and "when" not in entry
    holder = entry.sub("else") if otherwise else entry
    then = holder.sub("then")
    when = None if otherwise else condition_of(entry, "when", _OUTPUT)
    action = then.one_of("do", _ACTIONS, "fail")
    if "when" in entry and when is None:
        entry.note("dropped", None, "is skipped, as NoETL skips a rule that it cannot evaluate")
        then.ignore(*then.data)
        rule = None
    elif action == "retry":
        rule = _retry(then, when)
    else:
        rule = Rule(retry=False) if when is None else Rule(when=when, retry=False)
        if action not in ("fail", "continue") or (action == "continue" and not otherwise):
            then.note("changed", "do", f"`{action}` after an error has no counterpart: the step fails")
    then.rest({"to": "is not carried over", "set": "is not carried over: read the results of steps instead"})
    for one in (entry, holder):
        one.rest()
    return rule if rule is None or rule.when is not None else replace(rule, on=EVERY_CLASS)


def _retry(then: Fields, when: str | None) -> Rule:
    attempts = max(then.whole("attempts", _ATTEMPTS), 1)
    backoff: Backoff = then.one_of("backoff", _BACKOFFS, "none")  # type: ignore[assignment]  # one of them
    delay = 0.0 if backoff == "none" else then.seconds("delay", _DELAY)
    then.ignore("delay")
    growth = 2.0 if backoff == "exponential" else 1.0
    longest = longest_delay(delay, growth, attempts - 1) if growth > 1 else min(delay * attempts, LONGEST)
    return Rule(
        when=when,
        retry=True,
        max_attempts=attempts,
        backoff=backoff,
        initial_delay=delay,
        backoff_multiplier=growth,
        max_delay=longest,
        jitter=0.0,
    )
