from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.decision import Controls, Ledger
from tenax.model.policy import NO_POLICY, Policy
from tenax.policy.retry.decide import decide
from tenax.policy.retry.delay_table import delay_table
from tenax.policy.retry.resolve import compile_policy


def test_the_table_of_a_policy():
    rows = delay_table(Policy(max_attempts=4, initial_delay=1.0, max_delay=3.0, jitter=0.5))
    assert [(r.attempt, r.least, r.nominal, r.most) for r in rows] == [
        (1, 0, 0, 0),
        (2, 0.5, 1, 1.5),
        (3, 1, 2, 3),
        (4, 1.5, 3, 3),
    ]
    assert (rows[-1].cumulative_least, rows[-1].cumulative_nominal, rows[-1].cumulative_most) == (3, 6, 7.5)
    assert not rows[-1].more


@pytest.mark.parametrize(
    ("policy", "attempts", "more"),
    [
        (NO_POLICY, 1, False),
        (Policy(retryable=False, max_attempts=9), 1, False),
        (Policy(max_attempts=None), 20, True),
        (Policy(max_attempts=10**9), 20, True),
        (Policy(max_attempts=20), 20, False),
        (Policy(max_attempts=None, give_up_after=6.9, jitter=0.0), 3, False),
        (Policy(max_attempts=None, give_up_after=7.0, jitter=0.0), 4, False),
    ],
)
def test_how_many_rows(policy, attempts, more):
    rows = delay_table(policy)
    assert (len(rows), rows[-1].more) == (attempts, more)


@given(
    st.sampled_from(["none", "fixed", "linear", "exponential", "fibonacci", "decorrelated"]),
    st.sampled_from([0.0, 0.2, 1.0, "full", "equal"]),
    st.lists(st.floats(0, 1, exclude_max=True), min_size=8, max_size=8),
)
def test_real_delays_lie_within_the_table(backoff, jitter, rolls):
    policy = Policy(max_attempts=9, backoff=backoff, jitter=jitter, max_delay=20.0)
    ledger = Ledger()
    for row, roll in zip(delay_table(policy)[1:], rolls, strict=True):
        decision = decide(
            compile_policy(policy),
            ledger,
            Outcome("failed", facts=Facts(status_code=503)),
            attempt=row.attempt - 1,
            elapsed=0.0,
            controls=Controls(),
            roll=roll,
        )
        assert row.least - 1e-9 <= decision.delay.delay <= row.most + 1e-9
        assert row.least <= row.nominal <= row.most
        ledger = decision.after
