"""Tests how a worker judges itself: what it counts, what it reports, what it asks for."""

from __future__ import annotations

import signal
from dataclasses import replace
from datetime import UTC, datetime
from email.message import Message
from io import BytesIO
from urllib.error import HTTPError, URLError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.model.attempt import blame
from tenax.model.attempt.classify import classify
from tenax.model.attempt.exceptions import CONNECTION_ERRORS, PROGRAMMING_ERRORS
from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.fleet.health import HealthTerms
from tenax.model.times import parse_time
from tenax.model.wire import Assignment
from tenax.policy import transition
from tenax.sdk.outcomes import Fatal, NotCompleted, Retry, Snooze
from tenax.worker import self_check as health
from tenax.worker.handlers.error_outcomes import classified_failure, outcome_of, timeout_failure
from tenax.worker.self_check import SelfCheck, counts_against_worker

CRASH = Outcome("failed", facts=Facts(signal=int(signal.SIGSEGV)))
DONE = Outcome("succeeded")


class Odd(Exception):
    pass


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def check(clock):
    return SelfCheck(10, 1.0, clock=clock)


@pytest.fixture
def work(assign):
    return assign("process", {})


@pytest.mark.parametrize(
    ("outcome", "runtime", "counts"),
    [
        (timeout_failure(5), "python", True),
        (timeout_failure(5), "http", False),
        (CRASH, "process", True),
        (Outcome("failed", facts=Facts(oom_killed=True, signal=9)), "process", True),
        (Outcome("failed", facts=Facts(exit_code=127)), "process", True),
        (Outcome("failed", facts=Facts(exit_code=126)), "process", True),
        (Outcome("failed", facts=Facts(exit_code=1)), "process", False),
        (Outcome("failed", facts=Facts(signal=9, result_file="failed", fatal=True)), "process", False),
        (outcome_of(Odd("?")), "python", True),
        (outcome_of(OSError("disk")), "python", True),
        (outcome_of(ValueError("no")), "python", False),
        (outcome_of(PermissionError("no")), "python", False),
        (outcome_of(ConnectionResetError("no")), "python", False),
        (outcome_of(HTTPError("http://x.test/", 503, "no", Message(), BytesIO())), "python", False),
        (outcome_of(URLError(ConnectionRefusedError("no"))), "python", False),
        (outcome_of(URLError("unknown url type")), "python", True),
        (outcome_of(Fatal("no")), "python", False),
        (outcome_of(Retry("later")), "python", False),
        (outcome_of(NotCompleted()), "python", False),
        (outcome_of(Snooze(5)), "python", False),
        (classified_failure("invalid", "invalid_result", "no"), "python", False),
        (Outcome("failed", facts=Facts(status_code=503)), "http", False),
        (Outcome("failed", facts=Facts(status_code=503, exception="x.HTTPError")), "python", False),
        (DONE, "python", False),
    ],
)
def test_which_failures_speak_of_the_worker(assign, outcome, runtime, counts):
    assert counts_against_worker(outcome, assign(runtime, {})) is counts
    if outcome.status == "failed":
        failure = classify(outcome.facts)
        assert blame.is_fault_of_worker(failure, runtime=runtime, dependency=None) is counts
    assert not counts_against_worker(outcome, assign(runtime, {}, dependency="the-bank"))


NAMES = st.sampled_from(
    [
        *("builtins.OSError", "mylib.Odd", "builtins.PermissionError", "pydantic.ValidationError"),
        *sorted(CONNECTION_ERRORS),
        *sorted(PROGRAMMING_ERRORS),
    ]
)
FACTS = st.builds(
    Facts,
    status_code=st.sampled_from([None, None, 200, 404, 503]),
    connection=st.sampled_from([None, None, "refused"]),
    exit_code=st.sampled_from([None, None, 0, 1, 126, 127, -9]),
    signal=st.sampled_from([None, None, 11]),
    oom_killed=st.booleans(),
    result_file=st.sampled_from([None, None, "missing", "unreadable", "failed", "budget_exceeded"]),
    exception=st.none() | NAMES,
    exception_bases=st.lists(NAMES, max_size=2).map(tuple),
    timed_out=st.booleans(),
    fatal=st.booleans(),
    dependency=st.sampled_from([None, None, "the-bank"]),
    failure_class=st.sampled_from([None, None, "invalid", "cancelled"]),
)


@given(
    facts=FACTS,
    runtime=st.sampled_from(["python", "process", "http"]),
    dependency=st.sampled_from([None, None, "the-bank"]),
)
def test_worker_and_server_agree_on_it(facts, runtime, dependency):
    """They may not import each other, but share one rule."""
    by_server = blame.is_fault_of_worker(classify(facts), runtime=runtime, dependency=dependency)
    work = Assignment(1, 1, 1, "t", "s", runtime, {}, 1.0, "r", "w", None, dependency=dependency)
    assert counts_against_worker(Outcome("failed", facts=facts), work) is by_server


def test_the_rule_knows_the_exception_of_the_sdk():
    assert f"{Retry.__module__}.{Retry.__qualname__}" == blame.RETRY


def test_there_is_one_rule():
    """A second statement of the rule would drift away from the first."""
    assert health.is_fault_of_worker is blame.is_fault_of_worker
    assert transition.is_fault_of_worker is blame.is_fault_of_worker


def test_it_counts_over_its_whole_life(check, work):
    for outcome, seconds in ((DONE, 0.1), (outcome_of(Fatal("no")), 0.2), (CRASH, 0.3), (CRASH, 0.6)):
        check.count(outcome, work, seconds)
    report = check.report(3, 3)
    assert (report.total_executions, report.failed_executions, report.consecutive_failures) == (4, 3, 2)
    assert report.average_execution_time_ms == 300.0
    assert report.queue_depth == 3
    assert abs(parse_time(report.last_check) - datetime.now(UTC)).total_seconds() < 60
    check.count(outcome_of(Fatal("no")), work, 0.1)
    assert check.report(0, 0).consecutive_failures == 0, (
        "the worker works: it said what is wrong with the work"
    )


@pytest.mark.parametrize(
    ("slots", "depth", "status"),
    [
        (10, 49, "healthy"),
        (10, 50, "degraded"),
        (10, 99, "degraded"),
        (10, 100, "unhealthy"),
        (200, 200, "healthy"),
        (200, 201, "degraded"),
        (200, 399, "degraded"),
        (200, 400, "unhealthy"),
    ],
)
def test_depth(slots, depth, status):
    check = SelfCheck(slots, 1.0)
    assert check.report(depth, depth).status == status
    assert check.demand(depth) == ("backlogged" if status == "unhealthy" else "full")


@pytest.mark.parametrize(("lag", "status"), [(0.99, "healthy"), (1.0, "unhealthy")])
def test_overload(check, lag, status):
    check.lag = lag
    assert check.report(0, 0).status == status
    assert check.demand(0) == ("overloaded" if status == "unhealthy" else "full")


@pytest.mark.parametrize(("failures", "status"), [(2, "healthy"), (3, "degraded"), (10, "degraded")])
def test_failures_alone_leave_the_worst_verdict_to_the_server(check, work, failures, status):
    for _ in range(failures):
        check.count(CRASH, work, 0.1)
    assert check.report(0, 0).status == status
    assert check.demand(0) == "full", "it may be the last one that is able"


def test_unhealthy_by_its_failures_it_rests_and_then_asks_for_one(check, clock, work):
    check.note_verdict("unhealthy")
    for _ in range(9):
        check.count(CRASH, work, 0.1)
    assert check.demand(0) == "full"
    check.count(CRASH, work, 0.1)
    assert check.demand(0) == "failing"
    clock.now += 59.9
    assert check.demand(0) == "failing"
    clock.now += 0.1
    assert check.demand(0) == "probe"
    check.count(CRASH, work, 0.1)
    assert check.demand(0) == "failing"
    clock.now += 60
    check.count(DONE, work, 0.1)
    assert check.demand(0) == "full"


def test_without_probing_it_rests_until_the_server_takes_a_better_view(check, clock, work):
    check.terms = replace(HealthTerms(), probing=False)
    check.note_verdict("unhealthy")
    for _ in range(10):
        check.count(CRASH, work, 0.1)
    clock.now += 1e6
    assert check.demand(0) == "failing"
    check.note_verdict("degraded")
    assert (check.demand(0), check.report(0, 0).consecutive_failures) == ("full", 10)
    check.note_verdict("unhealthy")
    check.note_verdict("healthy")
    assert (check.demand(0), check.report(0, 0).consecutive_failures) == ("full", 0)


def test_a_verdict_that_was_good_all_along_forgives_nothing(check, work):
    for _ in range(4):
        check.count(CRASH, work, 0.1)
        check.note_verdict("healthy")
    assert check.report(0, 0).consecutive_failures == 4


@pytest.mark.parametrize(("overdue", "status"), [(9, "healthy"), (10, "unhealthy")])
def test_threads_that_outlived_their_attempts(check, overdue, status):
    check.overdue = overdue
    report = check.report(overdue, overdue)
    assert (report.status, report.overdue) == (status, overdue)
    assert check.demand(overdue) == ("stuck" if status == "unhealthy" else "full")
