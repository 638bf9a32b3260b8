"""What holds for every policy, ledger and outcome."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from tenax.model.decision import Controls, Ledger
from tenax.model.outcome import FAILURE_CLASSES, INFRASTRUCTURE, Facts, Failure, Outcome, Usage
from tenax.model.policy import Policy, Rule
from tenax.policy.decide import RULES, decide, read_failure, replay
from tenax.policy.resolve import compile_policy

rolls = st.floats(0, 1, exclude_max=True)
seconds = st.floats(0, 1e6)
names = st.lists(st.sampled_from([*FAILURE_CLASSES, "http_503", "http_404", "exit_code_1"]), max_size=3).map(
    tuple
)
conditions = st.none() | st.sampled_from(
    [
        "status_code >= 500",
        "{{ error != None }}",
        "attempt > 2",
        "error > 5",
        "data.x",
        "cost < 1",
        "'yes'",
        "elapsed",
    ]
)
jitters = st.floats(0, 1) | st.sampled_from(["full", "equal"])
backoffs = st.sampled_from(["none", "fixed", "linear", "exponential", "fibonacci", "decorrelated"])
rules = st.builds(
    Rule,
    on=names,
    retry=st.none() | st.booleans(),
    max_attempts=st.none() | st.integers(1, 4),
    backoff=st.none() | backoffs,
    initial_delay=st.none() | seconds,
    jitter=st.none() | jitters,
) | st.builds(
    Rule, when=conditions.filter(bool), retry=st.none() | st.booleans(), max_delay=st.none() | seconds
)
policies = st.builds(
    Policy,
    max_attempts=st.none() | st.integers(1, 6),
    retryable=st.booleans() | st.just(True),
    backoff=backoffs,
    initial_delay=seconds,
    backoff_multiplier=st.floats(1, 1e300),
    max_delay=seconds,
    jitter=jitters,
    retry_when=conditions,
    stop_when=conditions,
    retry_on=names,
    never_on=names,
    rules=st.lists(rules, max_size=2).map(tuple),
    infra_attempts=st.integers(0, 3),
    give_up_after=st.none() | seconds,
    honor_retry_after=st.booleans(),
    max_retry_after=seconds,
    attempt_cost=st.none() | st.floats(0, 10),
    max_snoozes=st.integers(0, 3),
)
counts = st.dictionaries(st.sampled_from(["0", "1"]), st.integers(0, 5))
ledgers = st.builds(
    Ledger,
    counted=st.integers(0, 8) | st.integers(0, 10**12),
    exempted=st.integers(0, 4),
    by_class=st.dictionaries(st.sampled_from(FAILURE_CLASSES), st.integers(0, 9)),
    by_rule=counts,
    snoozes=st.integers(0, 4),
    previous_delay=st.none() | seconds,
    cost=st.floats(0, 100),
    budget=st.none() | st.floats(0, 100),
    highest_cost=st.none() | st.floats(0, 10),
)
facts = st.builds(
    Facts,
    message=st.none() | st.text(max_size=5),
    status_code=st.none() | st.integers(100, 599),
    exit_code=st.none() | st.integers(-64, 255),
    exception=st.none() | st.sampled_from(["ValueError", "lib.Odd"]),
    timed_out=st.booleans(),
    retry_after=st.none() | seconds,
    failure_class=st.none() | st.sampled_from(FAILURE_CLASSES),
    data=st.none() | st.just({"x": 1}),
)
outcomes = st.builds(
    Outcome,
    status=st.sampled_from(["failed", "failed", "not_completed", "snoozed", "succeeded"]),
    facts=st.none() | facts,
    after=st.none() | seconds,
    usage=st.none() | st.builds(Usage, cost_usd=st.none() | st.floats(0, 10)),
)
controls = st.builds(
    Controls,
    execution_open=st.booleans() | st.just(True),
    retries_enabled=st.booleans() | st.just(True),
    hold=st.none() | st.just("breaker"),
)


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
        node_id="fetch",
    )


@settings(max_examples=300, deadline=None)
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
