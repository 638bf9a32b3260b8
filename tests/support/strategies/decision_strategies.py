"""Holds strategies for all inputs of a decision."""

from __future__ import annotations

from hypothesis import strategies as st

from tenax.model.attempt.outcome import FAILURE_CLASSES, Facts, Outcome, Usage
from tenax.model.decision import Controls, Ledger
from tenax.model.policy import Policy, Rule

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
