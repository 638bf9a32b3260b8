"""Tests properties that hold for every policy, ledger and outcome."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from support.profiles import examples
from support.strategies.decision_strategies import (
    conditions,
    controls,
    facts,
    ledgers,
    outcomes,
    policies,
    rolls,
    seconds,
)

from tenax.model.attempt.outcome import INFRASTRUCTURE, Facts, Failure, Outcome
from tenax.model.decision import Controls, Ledger
from tenax.model.policy import Policy
from tenax.policy.retry.decide import RULES, decide, read_failure, replay
from tenax.policy.retry.resolve import compile_policy


def settle(policy, ledger, outcome, roll=0.5, elapsed=5.0, given_controls=None):
    return decide(
        compile_policy(policy),
        ledger,
        outcome,
        attempt=3,
        elapsed=elapsed,
        controls=given_controls or Controls(),
        roll=roll,
        execution_id=7,
        step="fetch",
    )


@settings(max_examples=examples(100), deadline=None)
@given(policies, ledgers, outcomes, controls, rolls, seconds)
def test_it_is_total_and_the_record_replays_to_the_same_decision(
    policy, ledger, outcome, control, roll, elapsed
):
    decision = settle(policy, ledger, outcome, roll, elapsed, control)
    assert decision.rule in RULES
    assert decision.checks[-1].rule == decision.rule
    assert (decision.delay is not None) == (decision.verdict in ("retry", "hold"))
    assert decision.after.counted - decision.before.counted in (0, 1)
    assert decision == settle(policy, ledger, outcome, roll, elapsed, control)

    record = json.loads(json.dumps(decision.as_dict(), allow_nan=False))
    failure = read_failure(compile_policy(policy), ledger, outcome)
    stored = None if failure is None else json.loads(json.dumps(failure.as_dict()))
    restored = None if stored is None else Failure.from_dict(stored)
    assert replay(compile_policy(Policy.from_dict(policy.as_dict())), outcome, restored, record) == decision


@settings(deadline=None)
@given(policies, st.lists(st.tuples(outcomes.filter(lambda o: o.status != "succeeded"), rolls), max_size=25))
def test_counted_attempts_never_pass_the_limit(policy, ended):
    ledger = Ledger()
    for runs, (outcome, roll) in enumerate(ended, start=1):
        decision = settle(policy, ledger, outcome, roll)
        ledger = decision.after
        if policy.max_attempts is not None:
            assert ledger.counted <= policy.max_attempts
            assert runs <= policy.max_attempts + policy.infra_attempts + policy.max_snoozes
        if decision.verdict != "retry":
            break
        assert policy.max_attempts is None or ledger.counted < policy.max_attempts


@given(policies, ledgers, facts, rolls)
def test_the_delay_keeps_to_its_caps(policy, ledger, fact, roll):
    decision = settle(policy, ledger, Outcome("failed", facts=fact), roll)
    if decision.delay is None:
        return
    delays = (
        policy
        if decision.matched_rule is None
        else compile_policy(policy).rules[decision.matched_rule].delays
    )
    most = delays.max_delay
    if decision.delay.source == "retry_after":
        most = 2 * delays.max_retry_after
    assert 0 <= decision.delay.delay <= most
    assert decision.delay.jittered <= delays.max_delay


@given(
    ledgers.filter(lambda ledger: ledger.budget is None),
    st.sampled_from(sorted(INFRASTRUCTURE)),
    conditions.filter(bool),
)
def test_retry_when_never_makes_a_lost_worker_fatal(ledger, failure_class, condition):
    policy = Policy(max_attempts=None, retry_when=condition)
    assert (
        settle(policy, ledger, Outcome("failed", facts=Facts(failure_class=failure_class))).verdict == "retry"
    )
