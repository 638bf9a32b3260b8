"""Tests items that cost workers their lease: quarantined after enough different workers, and given up after enough time."""

from __future__ import annotations

import json

import pytest

from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.decision import Controls, Ledger
from tenax.model.policy import Policy, Rule
from tenax.policy.retry.decide import decide, read_failure, replay
from tenax.policy.retry.explain import explain_decision
from tenax.policy.retry.poison import is_poison
from tenax.policy.retry.resolve import compile_policy, resolve_policy

LOST = Outcome(
    "failed", facts=Facts(failure_class="worker_lost", reason="worker_heartbeat_stale", message="w")
)
HELD_TOO_LONG = Outcome(
    "failed", facts=Facts(failure_class="worker_lost", reason="hold_expired", message="h")
)
PATIENT = Policy(max_attempts=None, jitter=0.0)
TWO = Ledger(counted=2, lost_by=("a", "b"))


def lost(policy=PATIENT, ledger=TWO, *, worker="c", poison_after=3, outcome=LOST, elapsed=10.0, **more):
    controls = Controls(lost_worker=worker, poison_after=poison_after, **more)
    return decide(
        compile_policy(policy),
        ledger,
        outcome,
        attempt=ledger.counted + 1,
        elapsed=elapsed,
        controls=controls,
        roll=0.5,
    )


@pytest.mark.parametrize(
    ("before", "worker", "poison_after", "verdict", "after"),
    [
        ((), "a", 3, "retry", ("a",)),
        (("a",), "a", 3, "retry", ("a",)),
        (("a",), "b", 3, "retry", ("a", "b")),
        (("a", "b"), "b", 3, "retry", ("a", "b")),
        (("a", "b"), "c", 3, "hold", ("a", "b", "c")),
        (("a", "b", "c"), "c", 3, "hold", ("a", "b", "c")),
        (("a", "b", "c"), "d", 3, "hold", ("a", "b", "c", "d")),
        ((), "a", 1, "hold", ("a",)),
        (("a", "b", "c"), "d", 0, "retry", ("a", "b", "c", "d")),
    ],
)
def test_so_many_different_workers_quarantine_an_item(before, worker, poison_after, verdict, after):
    decision = lost(ledger=Ledger(counted=5, lost_by=before), worker=worker, poison_after=poison_after)
    assert (decision.verdict, decision.after.lost_by) == (verdict, after)
    assert decision.rule == ("poison" if verdict == "hold" else "retry")
    assert decision.after.counted == 6, "the attempt that was lost did run"


@pytest.mark.parametrize(
    ("policy", "rule"),
    [
        (Policy(max_attempts=3, infra_attempts=0), "attempts_exhausted"),
        (resolve_policy([False]), "attempts_exhausted"),
        (Policy(max_attempts=None, never_on=("worker_lost",)), "never_on"),
        (Policy(max_attempts=None, retryable=False), "not_retryable"),
        (Policy(max_attempts=None, give_up_after=10.0), "give_up_after"),
        (Policy(max_attempts=None, rules=(Rule(on=("worker_lost",), retry=False),)), "rule_retry"),
    ],
)
def test_a_rule_that_fails_it_comes_first(policy, rule):
    decision = lost(policy)
    assert (decision.verdict, decision.rule) == ("fail", rule)
    assert decision.after.lost_by == ("a", "b", "c")


def test_a_quarantine_comes_before_any_other_hold():
    assert lost(hold="the breaker of api is open").rule == "poison"
    assert lost(worker="b", hold="the breaker of api is open").rule == "hold"


def test_other_failures_neither_count_nor_are_held():
    ledger = Ledger(counted=3, lost_by=("a", "b", "c"))
    decision = lost(ledger=ledger, worker=None, outcome=Outcome("failed", facts=Facts(status_code=503)))
    assert (decision.verdict, decision.rule) == ("retry", "retry")
    assert decision.after.lost_by == ("a", "b", "c")


def test_who_lost_it_when_the_execution_was_over_is_known_too():
    decision = lost(execution_open=False)
    assert (decision.verdict, decision.after.lost_by) == ("stop", ("a", "b", "c"))


def test_a_hold_that_was_too_long_fails_and_uses_no_attempt():
    ledger = Ledger(counted=3, elapsed=10.0, lost_by=("a", "b", "c"))
    decision = lost(ledger=ledger, worker=None, poison_after=0, outcome=HELD_TOO_LONG, held_for=86400.0)
    assert (decision.verdict, decision.rule, decision.exhausted) == ("fail", "hold_expired", False)
    assert decision.after == ledger
    assert decision.reason.startswith("it was held for 1d, the limit (max_hold)")


@pytest.mark.parametrize(
    ("outcome", "controls"),
    [
        (LOST, Controls(lost_worker="c", poison_after=3)),
        (LOST, Controls(lost_worker="b", poison_after=3)),
        (HELD_TOO_LONG, Controls(held_for=86400.0)),
        (HELD_TOO_LONG, Controls(held_for=0.5)),
    ],
)
def test_made_again_from_its_record_it_is_the_same(outcome, controls):
    policy = compile_policy(PATIENT)
    first = decide(policy, TWO, outcome, attempt=3, elapsed=9.0, controls=controls, roll=0.7)
    stored = json.loads(json.dumps(first.as_dict()))
    again = replay(policy, outcome, read_failure(policy, TWO, outcome), stored)
    assert again == first
    assert json.loads(json.dumps(again.as_dict())) == stored


WHY = (
    "worker_lost (worker_heartbeat_stale) would be retried (its class is retried by default), "
    "but it has cost 3 workers their lease (a, b, c)"
)


def explained(decision, outcome):
    failure = read_failure(compile_policy(PATIENT), TWO, outcome)
    return explain_decision(
        json.loads(json.dumps(decision.as_dict())), failure.as_dict(), step="s", attempt=3
    )


def test_a_quarantine_in_plain_english():
    assert explained(lost(), LOST).splitlines() == [
        "Step s, attempt 3: hold. It waits: an attempt is due, but held back.",
        "What happened: worker_lost (worker_heartbeat_stale): w",
        "Decided by: poison - it has cost `poison_after` different workers their lease (or all there are, as often): hold, in quarantine.",
        f"Why: {WHY}: it is quarantined; attempt 3 (no limit).",
        "Attempts: attempt 3 (no limit).",
        "Delay: 4s. The exponential curve gives 4s after 3 counted failures (cap 5m); no jitter changed it.",
        "Rules looked at, in order:",
        "     execution_ended: execution_open true",
        "     never_retried_class: class worker_lost",
        "     not_retryable: retryable true",
        "     retries_disabled: retries_enabled true",
        "     class_default: class worker_lost, reason worker_heartbeat_stale, retried true",
        "     attempts_exhausted: counted 3, max_attempts none",
        "  -> poison: lost_by [a, b, c], losses 1, able none, poison_after 3",
    ]


def test_a_hold_that_was_too_long_in_plain_english():
    decision = lost(worker=None, poison_after=0, outcome=HELD_TOO_LONG, held_for=86400.0)
    lines = explained(decision, HELD_TOO_LONG).splitlines()
    assert lines[0] == "Step s, attempt 3: fail. It has failed for good."
    assert lines[2] == "Decided by: hold_expired - it was held for longer than `max_hold`: fail."
    assert lines[-1] == "  -> hold_expired: held_for 1d"


@pytest.mark.parametrize(
    ("lost_by", "losses", "able", "hit"),
    [
        (("a", "b", "c"), 3, 10, True),
        (("a", "b"), 3, 2, True),
        (("a", "b"), 2, 2, False),
        (("a", "b"), 5, 3, False),
        (("a",), 3, 1, True),
        (("a",), 3, 2, False),
        (("a",), 9, None, False),
        (("a", "b", "c"), 3, None, True),
    ],
)
def test_where_there_are_fewer_workers_it_takes_all_of_them_and_as_many_losses(lost_by, losses, able, hit):
    ledger = Ledger(by_class={"worker_lost": losses}, lost_by=lost_by)
    assert is_poison(ledger, Controls(lost_worker="a", poison_after=3, able=able)) is hit
    assert is_poison(ledger, Controls(lost_worker="a", poison_after=0, able=able)) is False
    assert is_poison(ledger, Controls(poison_after=3, able=able)) is False, "nobody was lost just now"
