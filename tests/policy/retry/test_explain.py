from __future__ import annotations

import json

import pytest

from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.decision import Controls, Ledger
from tenax.model.policy import Policy, Rule
from tenax.policy.retry.decide import decide, read_failure
from tenax.policy.retry.explain import explain_decision
from tenax.policy.retry.resolve import compile_policy


def explained(policy, outcome, ledger=Ledger(), controls=Controls(), roll=0.3):  # noqa: B008 - frozen
    if isinstance(outcome, Facts):
        outcome = Outcome("failed", facts=outcome)
    compiled = compile_policy(policy)
    decision = decide(compiled, ledger, outcome, attempt=2, elapsed=3.0, controls=controls, roll=roll)
    failure = read_failure(compiled, ledger, outcome)
    stored = json.loads(json.dumps(decision.as_dict()))
    return explain_decision(stored, failure.as_dict() if failure else None, step="fetch", attempt=2)


def test_a_retry_in_plain_english():
    policy = Policy(
        max_attempts=5, retry_when="{{ status_code >= 500 }}", rules=(Rule(on=("timeout",), retry=False),)
    )
    text = explained(policy, Facts(status_code=503, dependency="api.example.org"), Ledger(counted=1))
    assert text.splitlines() == [
        "Step fetch, attempt 2: retry. It is run again.",
        "What happened: transient (http_503): 503 Service Unavailable",
        "Evidence: status_code 503, dependency api.example.org.",
        "Decided by: retry - nothing stands against it: retry after the delay.",
        "Why: transient (http_503) is retried in 1.84s (retry_when is true); attempt 2 of 5 (3 retries left).",
        "Attempts: attempt 2 of 5 (3 retries left).",
        "Delay: 1.84s. The exponential curve gives 2s after 2 counted failures (cap 5m); jitter made it 1.84s (the draw was 0.300).",
        "Rules looked at, in order:",
        "     execution_ended: execution_open true",
        "     rules[0]: on [timeout], class transient, reason http_503",
        "     never_retried_class: class transient",
        "     not_retryable: retryable true",
        "     retries_disabled: retries_enabled true",
        "     retry_when: condition {{ status_code >= 500 }}, value true",
        "     attempts_exhausted: counted 2, max_attempts 5",
        "  -> retry: delay 1.84s",
    ]


LOST = Facts(failure_class="worker_lost")


@pytest.mark.parametrize(
    ("policy", "outcome", "says"),
    [
        (
            Policy(),
            Facts(status_code=429, retry_after=30.0),
            "asked to wait 30s (Retry-After): that is the floor",
        ),
        (Policy(), Facts(status_code=429, retry_after=7200.0), "of which max_retry_after honours 1h"),
        (Policy(), Facts(status_code=429, retry_after=0.1), "which the curve already exceeds"),
        (
            Policy(honor_retry_after=False),
            Facts(status_code=429, retry_after=9.0),
            "honor_retry_after: false ignores",
        ),
        (Policy(jitter=0.0), Facts(exit_code=7), "no jitter changed it"),
        (Policy(initial_delay=9.0, max_delay=9.0, jitter=0.0), Facts(exit_code=7), "(the cap, max_delay 9s)"),
        (
            Policy(backoff="decorrelated"),
            Facts(exit_code=7),
            "3 times the initial delay, within the cap 5m: 1.6s",
        ),
        (Policy(), Outcome("not_completed", after=7200.0), "limited by max_retry_after (1h)"),
        (Policy(), Outcome("snoozed", after=5.0), "as the handler asked when it snoozed"),
        (Policy(), Outcome("snoozed", after=5.0), "Attempts: attempt 2, not counted: 0 of 3 used."),
        (Policy(infra_attempts=2), LOST, "1 lost to infrastructure and not counted"),
        (Policy(max_attempts=1), Facts(exit_code=7), "Decided by: attempts_exhausted"),
        (Policy(), Facts(status_code=404), "Decided by: class_default"),
        (Policy(), Outcome("succeeded"), "complete. The step is complete."),
        (
            Policy(stop_when="error > 3"),
            Facts(exit_code=7),
            "stop_when cannot be evaluated (cannot compare text",
        ),
        (Policy(retry_when="false"), LOST, "skipped worker_lost is the infrastructure's"),
    ],
)
def test_what_it_says_of(policy, outcome, says):
    assert says in explained(policy, outcome)


def test_every_duration_of_a_check_is_written_as_one():
    text = explained(Policy(give_up_after=90.0), Facts(status_code=503, retry_after=120.0))
    assert "retry_after 2m" in text
    assert "give_up_after: elapsed 3s, delay 2m 7s, give_up_after 1m 30s" in text
    released = explained(
        Policy(), Facts(status_code=503), Ledger(counted=1), Controls(held_for=None, released_due_in=75.0)
    )
    assert "released: due_in 1m 15s" in released


def test_a_hold_says_why():
    assert "held: the breaker of api is open" in explained(
        Policy(), Facts(status_code=503), controls=Controls(hold="the breaker of api is open")
    )
