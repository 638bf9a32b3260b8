"""Tests that every field of a policy, of a rule and of an `until` has an effect."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.decision import Controls, Ledger
from tenax.model.definition.workflow import Until
from tenax.model.policy import Policy, Rule
from tenax.policy.retry.decide import decide
from tenax.policy.retry.resolve import compile_policy
from tenax.policy.retry.until import compile_until, poll
from tenax.policy.retry.vary import varied

UNAVAILABLE = Outcome("failed", facts=Facts(status_code=503))
LIMITED = Outcome("failed", facts=Facts(status_code=429, retry_after=100.0))
THIRD = Ledger(counted=2)
PLAIN = Policy(max_attempts=5)

POLICY_CASES = {
    "max_attempts": (PLAIN, 3, UNAVAILABLE, THIRD),
    "retryable": (PLAIN, False, UNAVAILABLE, THIRD),
    "backoff": (PLAIN, "fixed", UNAVAILABLE, THIRD),
    "initial_delay": (PLAIN, 2.0, UNAVAILABLE, THIRD),
    "backoff_multiplier": (PLAIN, 3.0, UNAVAILABLE, THIRD),
    "max_delay": (PLAIN, 1.5, UNAVAILABLE, THIRD),
    "jitter": (PLAIN, "full", UNAVAILABLE, THIRD),
    "retry_when": (PLAIN, "status_code == 500", UNAVAILABLE, THIRD),
    "stop_when": (PLAIN, "attempt >= 3", UNAVAILABLE, THIRD),
    "retry_on": (PLAIN, ("http_404",), Outcome("failed", facts=Facts(status_code=404)), THIRD),
    "never_on": (PLAIN, ("http_503",), UNAVAILABLE, THIRD),
    "rules": (PLAIN, (Rule(on=("transient",), retry=False),), UNAVAILABLE, THIRD),
    "infra_attempts": (Policy(), 0, Outcome("failed", facts=Facts(failure_class="worker_lost")), THIRD),
    "forgives_only_lost": (
        Policy(),
        True,
        Outcome("failed", facts=Facts(failure_class="worker_unavailable")),
        THIRD,
    ),
    "give_up_after": (PLAIN, 11.0, UNAVAILABLE, THIRD),
    "honor_retry_after": (PLAIN, False, LIMITED, THIRD),
    "max_retry_after": (PLAIN, 50.0, LIMITED, THIRD),
    "attempt_cost": (PLAIN, 0.8, UNAVAILABLE, Ledger(counted=2, budget=1.0)),
    "max_snoozes": (PLAIN, 0, Outcome("snoozed", after=9000.0), THIRD),
    "vary": (PLAIN, ('{"url":"http://other/"}',), UNAVAILABLE, THIRD),
}

FIRST = Rule(on=("transient",))
RULE_CASES = {
    "on": (Rule(on=("timeout",), retry=False), ("transient",), UNAVAILABLE),
    "when": (Rule(when="attempt == 9", retry=False), "attempt == 3", UNAVAILABLE),
    "retry": (FIRST, False, UNAVAILABLE),
    "max_attempts": (FIRST, 1, UNAVAILABLE),
    "backoff": (FIRST, "linear", UNAVAILABLE),
    "initial_delay": (FIRST, 2.0, UNAVAILABLE),
    "backoff_multiplier": (FIRST, 3.0, UNAVAILABLE),
    "max_delay": (FIRST, 1.5, UNAVAILABLE),
    "jitter": (FIRST, 0.9, UNAVAILABLE),
    "honor_retry_after": (FIRST, False, LIMITED),
    "max_retry_after": (FIRST, 50.0, LIMITED),
}


def what_follows(policy, outcome, ledger):
    decision = decide(
        compile_policy(policy),
        ledger,
        outcome,
        attempt=ledger.counted + 1,
        elapsed=10.0,
        controls=Controls(),
        roll=0.25,
    )
    delay = decision.delay.delay if decision.delay else None
    return decision.verdict, delay, varied(policy, decision.after)


@pytest.mark.parametrize("name", [f.name for f in fields(Policy)])
def test_every_field_of_a_policy_matters(name):
    policy, value, outcome, ledger = POLICY_CASES[name]
    changed = replace(policy, **{name: value})
    assert what_follows(policy, outcome, ledger) != what_follows(changed, outcome, ledger)


@pytest.mark.parametrize("name", [f.name for f in fields(Rule)])
def test_every_field_of_a_rule_matters(name):
    rule, value, outcome = RULE_CASES[name]
    before, after = (replace(PLAIN, rules=(r,)) for r in (rule, replace(rule, **{name: value})))
    assert what_follows(before, outcome, THIRD) != what_follows(after, outcome, THIRD)


UNTIL_CHANGES = {"condition": "polls == 3", "delay": 7.0, "max_polls": 3, "deadline": 9.0}


@pytest.mark.parametrize("name", [f.name for f in fields(Until)])
def test_every_field_of_an_until_matters(name):
    before = Until("result == 'done'")
    after = replace(before, **{name: UNTIL_CHANGES[name]})
    asked = {"polls": 3, "attempt": 4, "elapsed": 10.0, "execution_id": 1, "step": "a"}
    first, second = (poll(compile_until(u), Outcome("succeeded", "busy"), **asked) for u in (before, after))
    assert (first.done, first.delay, first.failure) != (second.done, second.delay, second.failure)
