"""The order of the decision as tables: policy, ledger and facts in; verdict and rule out."""

from __future__ import annotations

import pytest

from tenax.model.attempt.outcome import FAILURE_CLASSES, RETRIED_BY_DEFAULT, Facts, Outcome, Usage
from tenax.model.decision import Controls, Ledger
from tenax.model.policy import NO_POLICY, Policy, Rule
from tenax.policy.retry.decide import RULES, decide, progress
from tenax.policy.retry.resolve import compile_policy, resolve_policy

UNAVAILABLE = Facts(status_code=503)
MISSING = Facts(status_code=404)
REFUSED = Facts(connection="refused")
LOST = Facts(failure_class="worker_lost")
SOURCE_CONDITION = "{{ status_code >= 500 or error != None }}"


def run(policy, outcome, ledger=Ledger(), *, controls=Controls(), elapsed=10.0, roll=0.5, attempt=None):  # noqa: B008 - frozen
    if isinstance(outcome, Facts):
        outcome = Outcome("failed", facts=outcome)
    number = ledger.counted + 1 if attempt is None else attempt
    return decide(
        compile_policy(policy), ledger, outcome, attempt=number, elapsed=elapsed, controls=controls, roll=roll
    )


@pytest.mark.parametrize("failure_class", FAILURE_CLASSES)
def test_what_each_class_does_by_default(failure_class):
    decision = run(Policy(), Facts(failure_class=failure_class))
    assert (decision.verdict == "retry") == (failure_class in RETRIED_BY_DEFAULT)
    assert decision.after.by_class == {failure_class: 1}


RULE_429 = Rule(on=("http_429",), max_attempts=2, initial_delay=60.0)


@pytest.mark.parametrize(
    ("policy", "facts", "ledger", "verdict", "rule"),
    [
        (Policy(), UNAVAILABLE, Ledger(), "retry", "retry"),
        (Policy(), UNAVAILABLE, Ledger(counted=1), "retry", "retry"),
        (Policy(), UNAVAILABLE, Ledger(counted=2), "fail", "attempts_exhausted"),
        (NO_POLICY, UNAVAILABLE, Ledger(), "fail", "attempts_exhausted"),
        (Policy(max_attempts=None), UNAVAILABLE, Ledger(counted=10**9), "retry", "retry"),
        (Policy(), MISSING, Ledger(), "fail", "class_default"),
        # 4: never by itself, whatever else is said
        (Policy(retry_when="true"), Facts(failure_class="budget"), Ledger(), "fail", "never_retried_class"),
        (Policy(rules=(Rule(on=("cancelled",), retry=True),)), Facts(failure_class="cancelled"), Ledger(), "fail", "never_retried_class"),
        # 5
        (Policy(retryable=False, max_attempts=9), UNAVAILABLE, Ledger(), "fail", "not_retryable"),
        # 6: a reason beats a class, never_on beats retry_on
        (Policy(never_on=("transient",)), UNAVAILABLE, Ledger(), "fail", "never_on"),
        (Policy(never_on=("http_503",)), UNAVAILABLE, Ledger(), "fail", "never_on"),
        (Policy(never_on=("http_503",), retry_on=("http_503",)), UNAVAILABLE, Ledger(), "fail", "never_on"),
        (Policy(never_on=("transient",), retry_on=("transient",)), UNAVAILABLE, Ledger(), "fail", "never_on"),
        (Policy(never_on=("http_503",), retry_on=("transient",)), UNAVAILABLE, Ledger(), "fail", "never_on"),
        (Policy(never_on=("transient",), retry_on=("http_503",)), UNAVAILABLE, Ledger(), "retry", "retry"),
        (Policy(never_on=("http_500",)), UNAVAILABLE, Ledger(), "retry", "retry"),
        (Policy(never_on=("timeout",), retry_when="true"), Facts(timed_out=True), Ledger(), "fail", "never_on"),
        (Policy(retry_on=("http_404",)), MISSING, Ledger(), "retry", "retry"),
        (Policy(retry_on=("logical",)), MISSING, Ledger(), "retry", "retry"),
        (Policy(retry_on=("denied",)), MISSING, Ledger(), "fail", "class_default"),
        (Policy(stop_when="status_code == 503"), UNAVAILABLE, Ledger(), "fail", "stop_when"),
        (Policy(stop_when="status_code == 500"), UNAVAILABLE, Ledger(), "retry", "retry"),
        (Policy(stop_when="true"), LOST, Ledger(), "fail", "stop_when"),
        # 7: retry_when decides instead of the class, but not where a worker was lost
        (Policy(retry_when=SOURCE_CONDITION), UNAVAILABLE, Ledger(), "retry", "retry"),
        (Policy(retry_when=SOURCE_CONDITION), REFUSED, Ledger(), "retry", "retry"),
        (Policy(retry_when=SOURCE_CONDITION), Facts(timed_out=True), Ledger(), "retry", "retry"),
        (Policy(retry_when=SOURCE_CONDITION), MISSING, Ledger(), "retry", "retry"),
        (Policy(retry_when="{{ status_code >= 500 }}"), LOST, Ledger(), "retry", "retry"),
        (Policy(retry_when="{{ status_code >= 500 }}"), Facts(failure_class="queue_timeout"), Ledger(), "retry", "retry"),
        (Policy(retry_when="{{ status_code >= 500 }}"), Facts(failure_class="worker_unavailable"), Ledger(), "retry", "retry"),
        (Policy(retry_when="{{ status_code >= 500 }}"), REFUSED, Ledger(), "fail", "retry_when"),
        (Policy(retry_when="{{ status_code >= 500 }}"), Facts(timed_out=True), Ledger(), "fail", "retry_when"),
        (Policy(retry_when="false", rules=(Rule(on=("transient",), retry=True),)), UNAVAILABLE, Ledger(), "fail", "retry_when"),
        (Policy(retry_when="true", rules=(Rule(on=("transient",), retry=False),)), UNAVAILABLE, Ledger(), "retry", "retry"),
        (Policy(retry_when="true", rules=(Rule(on=("worker_lost",), retry=False),)), LOST, Ledger(), "fail", "rule_retry"),
        # conditions that break
        (Policy(retry_when="error > 5"), UNAVAILABLE, Ledger(), "fail", "condition_error"),
        (Policy(stop_when="error > 5"), UNAVAILABLE, Ledger(), "fail", "condition_error"),
        (Policy(rules=(Rule(when="error > 5", retry=True),)), UNAVAILABLE, Ledger(), "fail", "condition_error"),
        # rules: the first match, and only that
        (Policy(rules=(Rule(on=("http_404",), retry=True),)), MISSING, Ledger(), "retry", "retry"),
        (Policy(rules=(Rule(on=("transient",), retry=False),)), UNAVAILABLE, Ledger(), "fail", "rule_retry"),
        (Policy(rules=(Rule(on=("timeout",), retry=False), Rule(when="attempt == 1", retry=False))), UNAVAILABLE, Ledger(), "fail", "rule_retry"),
        (Policy(rules=(Rule(on=("http_503",), retry=True), Rule(on=("transient",), retry=False))), UNAVAILABLE, Ledger(), "retry", "retry"),
        (Policy(rules=(Rule(on=("http_503",), jitter=0.0),), never_on=("http_503",)), UNAVAILABLE, Ledger(), "fail", "never_on"),
        (Policy(rules=(RULE_429,), max_attempts=9), Facts(status_code=429), Ledger(counted=5), "retry", "retry"),
        (
            Policy(rules=(RULE_429,), max_attempts=9),
            Facts(status_code=429),
            Ledger(counted=5, by_rule={"0": 1}),
            "fail",
            "rule_attempts_exhausted",
        ),
        (Policy(rules=(RULE_429,), max_attempts=9), UNAVAILABLE, Ledger(counted=5, by_rule={"0": 7}), "retry", "retry"),
        (Policy(rules=(RULE_429,), max_attempts=3), Facts(status_code=429), Ledger(counted=2), "fail", "attempts_exhausted"),
        # 8: infrastructure may be forgiven
        (Policy(infra_attempts=1), LOST, Ledger(counted=2), "retry", "retry"),
        (Policy(infra_attempts=1), LOST, Ledger(counted=2, exempted=1), "fail", "attempts_exhausted"),
        (Policy(infra_attempts=1), UNAVAILABLE, Ledger(counted=2), "fail", "attempts_exhausted"),
        # 9: elapsed is 10, the delay 2 or 1
        (Policy(give_up_after=10.5), UNAVAILABLE, Ledger(), "fail", "give_up_after"),
        (Policy(give_up_after=11.0, jitter=0.0), UNAVAILABLE, Ledger(), "retry", "retry"),
        # 10
        (Policy(), UNAVAILABLE, Ledger(budget=1.0, cost=1.0), "fail", "budget"),
        (Policy(attempt_cost=0.3), UNAVAILABLE, Ledger(budget=1.0, cost=0.2), "retry", "retry"),
        (Policy(attempt_cost=0.6), UNAVAILABLE, Ledger(budget=1.0), "fail", "budget"),
        (Policy(attempt_cost=0.5), UNAVAILABLE, Ledger(budget=1.0), "retry", "retry"),
        (Policy(), UNAVAILABLE, Ledger(budget=1.0, cost=0.6, highest_cost=0.6), "fail", "budget"),
        # the order: exhausted before deadline before budget
        (Policy(max_attempts=1, give_up_after=0.0), UNAVAILABLE, Ledger(budget=0.0), "fail", "attempts_exhausted"),
        (Policy(give_up_after=0.0), UNAVAILABLE, Ledger(budget=0.0), "fail", "give_up_after"),
    ],
)  # fmt: skip
def test_the_order_of_the_decision(policy, facts, ledger, verdict, rule):
    decision = run(policy, facts, ledger)
    assert (decision.verdict, decision.rule) == (verdict, rule)
    assert decision.checks[-1].rule == rule
    assert decision.checks[-1].hit
    assert (decision.delay is not None) == (verdict == "retry")
    assert decision.exhausted == rule.endswith("attempts_exhausted")


def test_an_ended_execution_stops_whatever_came_of_the_attempt():
    closed = Controls(execution_open=False)
    for outcome in (Outcome("succeeded"), Outcome("snoozed", after=1), Outcome("failed", facts=UNAVAILABLE)):
        decision = run(Policy(), outcome, controls=closed)
        assert (decision.verdict, decision.rule) == ("stop", "execution_ended")


def test_success_completes_and_counts():
    decision = run(NO_POLICY, Outcome("succeeded", usage=Usage(cost_usd=0.5)), Ledger(cost=1.0))
    assert (decision.verdict, decision.rule) == ("complete", "succeeded")
    assert (decision.after.counted, decision.after.cost, decision.after.highest_cost) == (1, 1.5, 0.5)


def test_retries_switched_off_for_the_server():
    decision = run(Policy(), UNAVAILABLE, controls=Controls(retries_enabled=False))
    assert (decision.verdict, decision.rule) == ("fail", "retries_disabled")


def test_a_hold_comes_last_and_keeps_the_delay():
    held = Controls(hold="retry budget of api.example.org is spent")
    decision = run(Policy(jitter=0.0), UNAVAILABLE, controls=held)
    assert (decision.verdict, decision.rule, decision.delay.delay) == ("hold", "hold", 1.0)
    assert run(NO_POLICY, UNAVAILABLE, controls=held).verdict == "fail"
    assert run(Policy(give_up_after=1.0), UNAVAILABLE, controls=held).rule == "give_up_after"


def test_snoozes_do_not_count_until_their_limit():
    policy = Policy(max_snoozes=2)
    decision = run(policy, Outcome("snoozed", after=30.0), Ledger(counted=1, snoozes=1))
    assert (decision.verdict, decision.rule, decision.delay.delay) == ("retry", "snoozed", 30.0)
    assert (decision.after.counted, decision.after.snoozes) == (1, 2)
    beyond = run(policy, Outcome("snoozed", after=30.0), decision.after)
    assert (beyond.verdict, beyond.after.counted, beyond.after.by_class) == ("retry", 2, {"transient": 1})
    assert "snooze_limit" in beyond.reason
    last = run(policy, Outcome("snoozed", after=30.0), beyond.after)
    assert (last.verdict, last.rule) == ("fail", "attempts_exhausted")


def test_not_completed_counts_and_may_name_its_delay():
    decision = run(Policy(), Outcome("not_completed", after=7.0))
    assert (decision.verdict, decision.delay.delay, decision.delay.source) == ("retry", 7.0, "handler")
    assert decision.after.counted == 1
    assert run(Policy(), Outcome("not_completed"), Ledger(counted=2)).rule == "attempts_exhausted"


def test_a_forgiven_attempt_is_not_counted_anywhere():
    policy = Policy(infra_attempts=2, rules=(Rule(on=("worker_lost",), max_attempts=1),))
    decision = run(policy, LOST, Ledger(counted=1))
    after = decision.after
    assert (after.counted, after.exempted, after.by_rule, after.by_class) == (1, 1, {}, {"worker_lost": 1})
    assert decision.reason.endswith("attempt 2 of 3, not counted (infra_attempts: 1 of 2)")


@pytest.mark.parametrize(
    ("policy", "failure_class", "forgiven"),
    [
        (Policy(), "worker_lost", 2),
        (Policy(), "worker_unavailable", 2),
        (Policy(), "queue_timeout", 2),
        (NO_POLICY, "worker_lost", 2),
        (NO_POLICY, "worker_unavailable", 0),
        (NO_POLICY, "queue_timeout", 0),
        (resolve_policy([False]), "worker_lost", 0),
        (Policy(retryable=False), "worker_lost", 0),
        (Policy(infra_attempts=0), "worker_lost", 0),
    ],
)
def test_what_is_forgiven_by_default(policy, failure_class, forgiven):
    """Losses until the item fails, and how many of them did not count."""
    ledger, attempt = Ledger(), 0
    while attempt < 20:
        attempt += 1
        outcome = Outcome("failed", facts=Facts(failure_class=failure_class))
        decision = run(policy, outcome, ledger, attempt=attempt)
        ledger = decision.after
        if decision.verdict == "fail":
            break
    runs = 1 if not policy.retryable else policy.max_attempts
    assert (attempt, ledger.exempted, ledger.counted) == (runs + forgiven, forgiven, runs)


def test_a_lost_attempt_says_that_it_did_not_count():
    first = run(NO_POLICY, LOST)
    assert first.reason.endswith("attempt 1 of 1, not counted (infra_attempts: 1 of 2)")
    second = run(NO_POLICY, LOST, first.after, attempt=2)
    assert second.reason.endswith("attempt 2, not counted: 0 of 1 used (infra_attempts: 2 of 2)")


def test_infra_attempts_have_no_effect_with_unlimited():
    after = run(Policy(max_attempts=None, infra_attempts=5), LOST).after
    assert (after.counted, after.exempted) == (1, 0)


def test_a_rule_gives_its_own_delays():
    decision = run(Policy(rules=(RULE_429,), jitter=0.0), Facts(status_code=429), Ledger(counted=1))
    assert (decision.delay.delay, decision.matched_rule, decision.after.by_rule) == (120.0, 0, {"0": 1})


@pytest.mark.parametrize(
    ("ledger", "usage", "facts", "policy", "cost"),
    [
        (Ledger(), None, UNAVAILABLE, Policy(attempt_cost=0.5), 0.0),
        (Ledger(budget=9.0), None, UNAVAILABLE, Policy(attempt_cost=0.5), 0.5),
        (Ledger(budget=9.0, highest_cost=2.0), None, UNAVAILABLE, Policy(), 2.0),
        (Ledger(budget=9.0), None, UNAVAILABLE, Policy(), 0.0),
        (Ledger(), Usage(cost_usd=0.25), UNAVAILABLE, Policy(attempt_cost=0.5), 0.25),
        (Ledger(budget=9.0), None, Facts(failure_class="queue_timeout"), Policy(attempt_cost=0.5), 0.0),
        (Ledger(budget=9.0), None, LOST, Policy(attempt_cost=0.5), 0.5),
    ],
)
def test_what_an_attempt_is_charged(ledger, usage, facts, policy, cost):
    assert run(policy, Outcome("failed", facts=facts, usage=usage), ledger).after.cost == cost


def test_the_curve_of_a_plain_policy():
    ledger, delays = Ledger(), []
    for _ in range(4):
        decision = run(Policy(max_attempts=5, jitter=0.0), UNAVAILABLE, ledger)
        delays.append(decision.delay.delay)
        ledger = decision.after
    assert delays == [1.0, 2.0, 4.0, 8.0]
    assert ledger.previous_delay == 8.0


def test_decorrelated_grows_from_what_was_drawn():
    policy = Policy(backoff="decorrelated", max_attempts=5)
    first = run(policy, UNAVAILABLE, roll=0.5)
    second = run(policy, UNAVAILABLE, first.after, roll=0.5)
    assert (first.delay.delay, second.delay.delay) == (2.0, 3.5)


def test_retry_after_reaches_the_delay_and_not_the_curve():
    decision = run(Policy(jitter=0.0), Facts(status_code=429, retry_after=30.0))
    assert (decision.delay.delay, decision.delay.source) == (30.0, "retry_after")
    assert decision.after.previous_delay == 1.0


def test_every_rule_looked_at_is_recorded_in_the_published_order():
    policy = Policy(
        rules=(Rule(on=("timeout",), retry=False), Rule(when="attempt == 1", max_attempts=2)),
        never_on=("denied",),
        stop_when="success",
        retry_on=("http_404",),
        give_up_after=100.0,
    )
    decision = run(policy, UNAVAILABLE, Ledger(budget=1.0))
    names = [check.rule for check in decision.checks]
    assert names == [
        "execution_ended",
        "rules[0]",
        "rules[1]",
        "never_retried_class",
        "not_retryable",
        "retries_disabled",
        "never_on",
        "stop_when",
        "retry_on",
        "class_default",
        "attempts_exhausted",
        "rule_attempts_exhausted",
        "give_up_after",
        "budget",
        "retry",
    ]
    order = [*RULES]
    positions = [order.index("rules[i]" if name.startswith("rules[") else name) for name in names]
    assert positions == sorted(positions)


@pytest.mark.parametrize(
    ("counted", "limit", "text"),
    [
        (2, 3, "attempt 2 of 3 (1 retry left)"),
        (1, 3, "attempt 1 of 3 (2 retries left)"),
        (3, 3, "attempt 3 of 3 (0 retries left)"),
        (4, None, "attempt 4 (no limit)"),
    ],
)
def test_messages_print_both_numbers(counted, limit, text):
    assert progress(counted, limit) == text
    assert text in run(Policy(max_attempts=limit), UNAVAILABLE, Ledger(counted=counted - 1)).reason


def test_work_that_is_not_retryable_has_no_retries_left() -> None:
    from tenax.policy.retry.attempt_words import only_run

    assert only_run(1, 5) == "attempt 1 of 5 (no retries)"
    assert only_run(1, None) == "attempt 1 (no retries)"
