"""Cases that are alike. Where a dependency is down, thousands of attempts end in the same way, after the same past. What is decided
on them differs in a few numbers, and it is known in which: the rest need not be worked out, nor written, each time anew."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import fields
from operator import attrgetter
from typing import Any, NamedTuple

from tenax.model.decision import Decision, DelayParts
from tenax.model.durations import format_duration
from tenax.model.outcome import Facts, Failure, Outcome
from tenax.model.policy import Policy
from tenax.policy.backoff import plan_delay
from tenax.policy.resolve import CompiledPolicy

Mark = Callable[[str], str]
"""What stands in a record for something of this name, which differs from case to case."""
LONGEST = 8000
"""Characters of a failure that is remembered. Longer ones are seldom the same."""

_ODD = ("data", "child")
"""What cannot be compared at once; seldom the same, either."""
_odd = attrgetter(*_ODD)
_texts = attrgetter("message", "stderr_tail", "traceback")
_facts = attrgetter(*(field.name for field in fields(Facts) if field.name not in _ODD))


class Past(NamedTuple):
    """What lies behind an item, and nothing but ended attempts does."""

    counts: Hashable
    previous_delay: float | None


def past_of(ledger: dict[str, Any] | None) -> Past | None:
    """Of a stored ledger. None: there is more in it than counts."""
    if ledger is None:
        return Past(None, None)
    counts = dict(ledger)
    previous = counts.pop("previous_delay", None)
    counts.pop("elapsed", None)
    by_class, by_rule = counts.pop("by_class", {}), counts.pop("by_rule", {})
    counted, exempted = counts.pop("counted", 0), counts.pop("exempted", 0)
    if counts:
        return None
    known = (counted, exempted, previous is None, tuple(by_class.items()), tuple(by_rule.items()))
    return Past(known, previous)


def kind_of(outcome: Outcome) -> Hashable:
    """What failures have in common that are alike. None: this one is not to be compared."""
    facts = outcome.facts
    if facts is None or outcome.after is not None or outcome.usage is not None or outcome.result is not None:
        return None
    if _odd(facts) != (None, None) or sum(len(text or "") for text in _texts(facts)) > LONGEST:
        return None
    return outcome.status, _facts(facts)


def is_steady(policy: CompiledPolicy) -> bool:
    """Nothing in the policy looks at what differs between failures that are alike: the time, and which execution it is."""
    return (
        policy.retry_when is None
        and policy.stop_when is None
        and policy.policy.give_up_after is None
        and all(rule.when is None for rule in policy.rules)
    )


def marked(decision: Decision, mark: Mark) -> dict[str, Any]:
    """The record of a decision, with marks for what differs: `elapsed`, `roll`, `execution_id`, `previous_delay`."""
    record = decision.as_dict()
    record |= {name: mark(name) for name in ("elapsed", "roll", "execution_id")}
    for name in ("before", "after"):
        record[name] = {**record[name], "elapsed": mark("elapsed")}
        if record[name].get("previous_delay") is not None:
            record[name]["previous_delay"] = mark("previous_delay")
    return record


class Delays(NamedTuple):
    """How the delays of retries that are alike are found."""

    policy: Policy
    n: int
    hint: float | None
    fixed: float | None
    """The same for all of them, where chance has no part in it."""

    def plan(self, roll: float, previous: float | None) -> DelayParts:
        return plan_delay(self.policy, n=self.n, previous=previous, roll=roll, hint=self.hint)


def marked_retry(
    policy: CompiledPolicy, decision: Decision, failure: Failure, mark: Mark
) -> tuple[dict[str, Any], Delays] | None:
    """The same for a plain retry. Where its delay is not fixed, with marks for that as well: `delay`, `parts` (all of it), `in_words`,
    and `next_delay`, which the next attempt will have behind it. None: it is not put as it should be."""
    parts, [*checks, last] = decision.delay, decision.checks
    if parts is None or parts.n is None or last.rule != "retry":
        return None
    said = f"{failure.failure_class} ({failure.reason}) is retried in "
    words = said + format_duration(parts.delay)
    if not decision.reason.startswith(f"{words} ("):
        return None
    matched = decision.matched_rule
    curve = policy.policy if matched is None else policy.rules[matched].delays
    fixed = parts.delay if curve.jitter == 0 and curve.backoff != "decorrelated" else None
    delays = Delays(curve, parts.n, failure.evidence.get("retry_after"), fixed)
    record = marked(decision, mark)
    if fixed is not None:
        record["after"]["previous_delay"] = decision.after.previous_delay
        record["delay"]["roll"] = mark("roll")
        return record, delays
    record["reason"] = said + mark("in_words") + decision.reason.removeprefix(words)
    record["checks"] = [
        *record["checks"][: len(checks)],
        {**record["checks"][-1], "saw": {"delay": mark("delay")}},
    ]
    record["after"]["previous_delay"] = mark("next_delay")
    record["delay"] = mark("parts")
    return record, delays
