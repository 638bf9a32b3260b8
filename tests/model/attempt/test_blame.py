"""Tests which failures count against the worker that ran the attempt."""

from __future__ import annotations

import pytest

from tenax.model.attempt.blame import is_fault_of_worker
from tenax.model.attempt.classify import classify
from tenax.model.attempt.outcome import FAILURE_CLASSES, Facts, Failure
from tenax.model.attempt.reasons import REASON_OF_CLASS, REASONS


def blamed(facts: Facts, runtime: str = "process", dependency: str | None = None) -> bool:
    return is_fault_of_worker(classify(facts), runtime=runtime, dependency=dependency)


@pytest.mark.parametrize(
    "facts",
    [
        Facts(timed_out=True),
        Facts(oom_killed=True),
        Facts(signal=11),
        Facts(exit_code=-9),
        Facts(exit_code=126),
        Facts(exit_code=127),
        Facts(exception="builtins.OSError"),
        Facts(exception="mylib.errors.Broken", exception_bases=("builtins.Exception",)),
        Facts(),
        Facts(message="it failed"),
    ],
)
def test_a_crash_speaks_of_the_worker_unless_someone_else_had_a_part_in_it(facts):
    assert blamed(facts)
    assert blamed(facts, "python")
    assert not blamed(facts, "http")
    assert not blamed(facts, dependency="billing")
    named = Failure(
        **{**_fields(facts), "evidence": {**classify(facts).evidence, "dependency": "api.example"}}
    )
    assert not is_fault_of_worker(named, runtime="process", dependency=None)


def _fields(facts: Facts) -> dict[str, object]:
    failure = classify(facts)
    return {"failure_class": failure.failure_class, "reason": failure.reason, "message": failure.message}


@pytest.mark.parametrize("evidence", [{"status_code": 200}, {"connection": "reset"}, {"dependency": "db"}])
@pytest.mark.parametrize(
    ("failure_class", "reason"), [("timeout", "attempt_timeout"), ("transient", "unclassified")]
)
def test_an_answer_or_a_connection_in_the_evidence_clears_the_worker(failure_class, reason, evidence):
    assert is_fault_of_worker(Failure(failure_class, reason, ""), runtime="python", dependency=None)
    failure = Failure(failure_class, reason, "", evidence)
    assert not is_fault_of_worker(failure, runtime="python", dependency=None)


@pytest.mark.parametrize(
    "facts",
    [
        Facts(exit_code=1),
        Facts(exit_code=128),
        Facts(exit_code=12),
        Facts(exit_code=1267),
        Facts(fatal=True),
        Facts(status_code=503),
        Facts(status_code=429),
        Facts(connection="refused"),
        Facts(connection="timeout"),
        Facts(result_file="missing", exit_code=0),
        Facts(result_file="failed"),
        Facts(result_file="budget_exceeded"),
        Facts(exception="builtins.TypeError"),
        Facts(exception="builtins.PermissionError"),
        Facts(exception="builtins.ConnectionRefusedError"),
        Facts(exception="lib.ValidationError"),
        Facts(exception="builtins.OSError", failure_class="logical"),
        Facts(failure_class="transient", reason="not_completed"),
    ],
)
def test_what_the_work_or_its_dependency_did_is_not_the_workers(facts):
    assert not blamed(facts)


def test_a_handler_that_asks_to_run_again_works():
    failure = classify(Facts(exception="builtins.OSError"), status="not_completed")
    assert not is_fault_of_worker(failure, runtime="python", dependency=None)


def test_of_each_class_by_itself():
    counted = {
        name
        for name in FAILURE_CLASSES
        if is_fault_of_worker(Failure(name, REASON_OF_CLASS[name], ""), runtime="python", dependency=None)
    }
    assert counted == {"transient", "timeout", "worker_lost"}


def test_a_lost_worker_counts_whatever_it_talked_to():
    failure = Failure("worker_lost", "worker_heartbeat_stale", "", {"dependency": "db", "status_code": 503})
    assert is_fault_of_worker(failure, runtime="http", dependency="db")


def test_of_the_published_reasons_of_transient_failures_few_count():
    counted = {
        reason
        for reason in REASONS
        if is_fault_of_worker(Failure("transient", reason, ""), runtime="python", dependency=None)
    }
    assert counted == {"oom_killed", "unclassified"}


@pytest.mark.parametrize(
    "reason", ["execution_deadline", "until_limit", "wait_deadline", "callback_deadline"]
)
def test_a_deadline_of_more_than_one_attempt_is_not_the_workers(reason):
    assert not is_fault_of_worker(Failure("timeout", reason, ""), runtime="python", dependency=None)
