from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.model.attempt.classify import classify
from tenax.model.attempt.exceptions import PROGRAMMING_ERRORS
from tenax.model.attempt.outcome import FAILURE_CLASSES, Facts
from tenax.model.attempt.reasons import is_known_reason

PYDANTIC = ("builtins.ValueError", "builtins.Exception", "builtins.BaseException")
JSON_ERROR = Facts(exception="json.decoder.JSONDecodeError", exception_bases=PYDANTIC)


def exception(name, *bases):
    return Facts(exception=name, exception_bases=bases)


LOGICAL = (
    "TypeError ValueError KeyError IndexError AttributeError NameError UnboundLocalError NotImplementedError"
    " AssertionError ZeroDivisionError ImportError ModuleNotFoundError SyntaxError"
)
"""The contract's list, and no other subclass of these."""
NO_PROGRAMMING_ERRORS = [
    *("LookupError", "ArithmeticError", "OverflowError", "IndentationError", "RecursionError"),
    *("FloatingPointError", "UnicodeError", "RuntimeError", "MemoryError", "EOFError", "Exception"),
]


def test_the_list_of_programming_errors_is_that_of_the_contract():
    assert {f"builtins.{name}" for name in LOGICAL.split()} == PROGRAMMING_ERRORS


@pytest.mark.parametrize(
    ("facts", "failure_class", "reason"),
    [
        # explicit
        (Facts(failure_class="denied"), "denied", "permission_denied"),
        (Facts(failure_class="worker_lost"), "worker_lost", "worker_heartbeat_stale"),
        (Facts(failure_class="queue_timeout"), "queue_timeout", "queue_ttl_expired"),
        (Facts(failure_class="logical", reason="child_failed"), "logical", "child_failed"),
        (Facts(failure_class="logical", status_code=503), "logical", "http_503"),
        (Facts(failure_class="transient", timed_out=True), "transient", "attempt_timeout"),
        (Facts(reason="http_503"), "transient", "http_503"),
        (Facts(reason="http_404"), "logical", "http_404"),
        (Facts(reason="child_failed"), "logical", "child_failed"),
        (Facts(reason="exit_code_7"), "transient", "exit_code_7"),
        (Facts(reason="exception_ValueError"), "logical", "exception_ValueError"),
        # timeouts beat everything that was seen, result files included
        (Facts(timed_out=True, result_file="failed", fatal=True), "timeout", "attempt_timeout"),
        (Facts(fatal=True, status_code=503), "logical", "reported_failure"),
        # result files
        (Facts(result_file="failed", exit_code=1), "logical", "reported_failure"),
        (Facts(result_file="failed", exit_code=1, signal=9), "logical", "reported_failure"),
        (Facts(result_file="budget_exceeded", exit_code=0), "budget", "budget_exceeded"),
        (Facts(result_file="missing", exit_code=7), "transient", "exit_code_7"),
        (Facts(result_file="missing", exit_code=0), "transient", "missing_result"),
        (Facts(result_file="unreadable", exit_code=7), "transient", "exit_code_7"),
        (Facts(result_file="other", exit_code=7), "transient", "exit_code_7"),
        (Facts(result_file="other", signal=9), "transient", "signal_9"),
        (Facts(result_file="unreadable", exit_code=0), "invalid", "invalid_result"),
        (Facts(result_file="unreadable", oom_killed=True), "transient", "oom_killed"),
        # connections
        *[
            (Facts(connection=kind), "transient", f"connection_{kind}")
            for kind in ("refused", "reset", "dns", "timeout", "tls", "unreachable", "protocol")
        ],
        (Facts(connection="other"), "transient", "connection_failed"),
        # HTTP
        *[
            (Facts(status_code=code), "transient", f"http_{code}")
            for code in (500, 502, 503, 504, 599, 408, 425, 429)
        ],
        *[(Facts(status_code=code), "denied", f"http_{code}") for code in (401, 403)],
        *[
            (Facts(status_code=code), "logical", f"http_{code}")
            for code in (301, 304, 400, 404, 409, 410, 418, 422)
        ],
        (Facts(status_code=200), "transient", "unclassified"),
        # processes
        (Facts(exit_code=1), "transient", "exit_code_1"),
        (Facts(exit_code=137), "transient", "exit_code_137"),
        (Facts(exit_code=-9), "transient", "signal_9"),
        (Facts(signal=11), "transient", "signal_11"),
        (Facts(oom_killed=True, signal=9, exit_code=137), "transient", "oom_killed"),
        # exceptions
        *[(exception(name), "logical", f"exception_{name[9:]}") for name in sorted(PROGRAMMING_ERRORS)],
        (exception("ValueError"), "logical", "exception_ValueError"),
        (exception("mylib.ValueError"), "transient", "exception_ValueError"),
        *[(exception(name), "transient", f"exception_{name}") for name in NO_PROGRAMMING_ERRORS],
        (
            exception("builtins.ModuleNotFoundError", "builtins.ImportError"),
            "logical",
            "exception_ModuleNotFoundError",
        ),
        (exception("UnicodeDecodeError"), "transient", "exception_UnicodeDecodeError"),
        (exception("builtins.IndexError", "builtins.LookupError"), "logical", "exception_IndexError"),
        (exception("lib.OutOfRange", "builtins.IndexError"), "transient", "exception_OutOfRange"),
        (JSON_ERROR, "transient", "exception_JSONDecodeError"),
        (exception("builtins.PermissionError", "builtins.OSError"), "denied", "permission_denied"),
        (exception("PermissionError"), "denied", "permission_denied"),
        (exception("builtins.ConnectionRefusedError"), "transient", "connection_refused"),
        (exception("ConnectionResetError"), "transient", "connection_reset"),
        (exception("BrokenPipeError"), "transient", "connection_reset"),
        (
            exception("lib.Refused", "builtins.ConnectionRefusedError", "builtins.ConnectionError"),
            "transient",
            "connection_refused",
        ),
        (
            exception("lib.Lost", "builtins.ConnectionError", "builtins.OSError"),
            "transient",
            "connection_failed",
        ),
        (exception("socket.gaierror", "builtins.OSError"), "transient", "connection_dns"),
        (exception("pydantic_core._pydantic_core.ValidationError", *PYDANTIC), "invalid", "validation_error"),
        (exception("pydantic.ValidationError"), "invalid", "validation_error"),
        (exception("jsonschema.exceptions.ValidationError"), "invalid", "validation_error"),
        (exception("app.BadOrder", "jsonschema.exceptions.ValidationError"), "invalid", "validation_error"),
        (exception("builtins.RuntimeError"), "transient", "exception_RuntimeError"),
        (exception("m.f.<locals>.Odd"), "transient", "exception_Odd"),
        (exception("m.<lambda>"), "transient", "exception__lambda_"),
        # nothing known
        (Facts(), "transient", "unclassified"),
        (Facts(message="TypeError: permission denied, 404, timeout"), "transient", "unclassified"),
    ],
)
def test_the_table_of_classes(facts, failure_class, reason):
    failure = classify(facts)
    assert (failure.failure_class, failure.reason) == (failure_class, reason)
    assert failure.message


@pytest.mark.parametrize(
    ("facts", "failure_class", "reason"),
    [
        (Facts(), "transient", "not_completed"),
        (Facts(status_code=404), "transient", "not_completed"),
        (Facts(timed_out=True), "timeout", "attempt_timeout"),
        (Facts(failure_class="logical"), "logical", "not_completed"),
    ],
)
def test_not_completed_is_the_handlers_word(facts, failure_class, reason):
    failure = classify(facts, status="not_completed")
    assert (failure.failure_class, failure.reason) == (failure_class, reason)


def test_the_evidence_is_what_is_set():
    failure = classify(
        Facts(message="no", status_code=503, retry_after=0.0, exception_bases=("a.B",), data={"x": 1})
    )
    assert failure.evidence == {
        "status_code": 503,
        "retry_after": 0.0,
        "exception_bases": ["a.B"],
        "data": {"x": 1},
    }
    assert failure.as_dict()["message"] == "no"


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        (Facts(status_code=503), "503 Service Unavailable"),
        (Facts(status_code=599), "HTTP status 599"),
        (Facts(exit_code=7), "the process ended with exit code 7"),
        (Facts(exit_code=-9), "the process was killed by signal 9"),
        (Facts(exception="a.B"), "a.B was raised"),
        (Facts(connection="refused"), "nothing listens at the address"),
    ],
)
def test_a_message_where_none_was_given(facts, message):
    assert classify(facts).message == message


facts_strategy = st.builds(
    Facts,
    message=st.none() | st.text(max_size=5),
    status_code=st.none() | st.integers(100, 999),
    connection=st.none() | st.sampled_from(["refused", "dns", "other"]),
    exit_code=st.none() | st.integers(-64, 255),
    signal=st.none() | st.integers(1, 64),
    oom_killed=st.booleans(),
    result_file=st.none()
    | st.sampled_from(["missing", "unreadable", "completed", "failed", "budget_exceeded"]),
    exception=st.none() | st.sampled_from(["ValueError", "a.b.C", "builtins.OSError", "x.ValidationError"]),
    timed_out=st.booleans(),
    fatal=st.booleans(),
    failure_class=st.none() | st.sampled_from(FAILURE_CLASSES),
)


@given(facts_strategy)
def test_it_is_total_and_reasons_are_published(facts):
    failure = classify(facts)
    assert failure.failure_class in FAILURE_CLASSES
    assert is_known_reason(failure.reason)
    assert failure == classify(facts)
