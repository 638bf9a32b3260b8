"""Classifies failures by a pure function of typed facts, and never by the text of a message."""

from __future__ import annotations

import re
from functools import lru_cache
from http import HTTPStatus
from typing import Any

from msgspec import to_builtins
from msgspec.structs import replace

from tenax.model.attempt.exceptions import (
    CONNECTION_ERRORS,
    PERMISSION_ERROR,
    PROGRAMMING_ERRORS,
    VALIDATION_ERROR,
    lineage_of,
)
from tenax.model.attempt.outcome import Connection, Facts, Failure, FailureClass, OutcomeStatus
from tenax.model.attempt.reasons import REASON_OF_CLASS, REASONS

_Verdict = tuple[FailureClass, str]

_RETRIED_STATUS = frozenset({408, 425, 429})
_DENIED_STATUS = frozenset({401, 403})

_NO_EVIDENCE = ("message", "failure_class", "reason")
_NOT_A_NAME = re.compile(r"\W+", re.ASCII)


def classify(facts: Facts, *, status: OutcomeStatus = "failed") -> Failure:
    """Returns the classified failure of these facts. The status `not_completed` wins over other facts."""
    failure_class, reason = kind_of_failure(facts, status=status)
    return Failure(failure_class, reason, facts.message or _message(facts, reason), _evidence(facts))


def kind_of_failure(facts: Facts, *, status: OutcomeStatus = "failed") -> _Verdict:
    """Returns the class and the reason of the failure with these facts."""
    seen = _from_facts(facts, status)
    if facts.failure_class is not None:
        failure_class: FailureClass = facts.failure_class
        default = seen[1] if seen is not None else REASON_OF_CLASS[failure_class]
    else:
        failure_class, default = seen or _from_reason(facts.reason) or ("transient", "unclassified")
    return failure_class, facts.reason or default


def _from_facts(facts: Facts, status: OutcomeStatus) -> _Verdict | None:
    """Returns class and reason by the first decisive kind of fact. Returns None if there is none."""
    if facts.timed_out:
        return "timeout", "attempt_timeout"
    if facts.fatal:
        return "logical", "reported_failure"
    if status == "not_completed":
        return "transient", "not_completed"
    if (verdict := _from_result_file(facts)) is not None:
        return verdict
    if facts.connection is not None:
        return "transient", _connection_reason(facts.connection)
    if facts.status_code is not None and (verdict := _from_status(facts.status_code)) is not None:
        return verdict
    if (verdict := _from_process(facts)) is not None:
        return verdict
    if facts.exception is not None:
        return _from_exception(facts.exception, facts.exception_bases)
    return None


def _from_result_file(facts: Facts) -> _Verdict | None:
    """Returns class and reason by the result file, or None. An unreadable file decides only if the exit code is 0."""
    match facts.result_file:
        case "failed":
            return "logical", "reported_failure"
        case "budget_exceeded":
            return "budget", "budget_exceeded"
        case "unreadable" if _from_process(facts) is None:
            return "invalid", "invalid_result"
        case "missing" if facts.exit_code == 0 and _from_process(facts) is None:
            return "transient", "missing_result"
        case _:
            return None


def _connection_reason(connection: Connection) -> str:
    return "connection_failed" if connection == "other" else f"connection_{connection}"


def _from_status(code: int) -> _Verdict | None:
    if code < 300:
        return None
    reason = f"http_{code}"
    if code in _DENIED_STATUS:
        return "denied", reason
    if code >= 500 or code in _RETRIED_STATUS:
        return "transient", reason
    return "logical", reason


def _from_process(facts: Facts) -> _Verdict | None:
    """Returns class and reason by the end of a process, or None. In Python, a negative exit code is a signal."""
    if facts.oom_killed:
        return "transient", "oom_killed"
    if facts.signal is not None:
        return "transient", f"signal_{facts.signal}"
    if not facts.exit_code:
        return None
    if facts.exit_code < 0:
        return "transient", f"signal_{-facts.exit_code}"
    return "transient", f"exit_code_{facts.exit_code}"


@lru_cache(maxsize=512)  # a step that fails often fails with the same few exceptions
def _from_exception(exception: str, bases: tuple[str, ...]) -> _Verdict:
    lineage = lineage_of(exception, bases)
    name = lineage[0].rpartition(".")[2]
    if lineage[0] in PROGRAMMING_ERRORS:
        return "logical", f"exception_{name}"
    if PERMISSION_ERROR in lineage:
        return "denied", "permission_denied"
    for ancestor in lineage:
        if ancestor in CONNECTION_ERRORS:
            return "transient", CONNECTION_ERRORS[ancestor]
    if any(ancestor.endswith(VALIDATION_ERROR) for ancestor in lineage):
        return "invalid", "validation_error"
    return "transient", f"exception_{_NOT_A_NAME.sub('_', name)[:200] or 'unknown'}"


def _from_reason(reason: str | None) -> _Verdict | None:
    """Returns the class of a known reason together with the reason. Returns None for other reasons."""
    if reason is None:
        return None
    kind, _, number = reason.rpartition("_")
    if kind == "http" and number.isdecimal():
        verdict = _from_status(int(number[:6]))
        return verdict and (verdict[0], reason)
    if reason.startswith("exception_"):
        return _from_exception(reason.removeprefix("exception_"), ())[0], reason
    failure_class = _CLASS_OF_REASON.get(reason)
    return None if failure_class is None else (failure_class, reason)


_CLASS_OF_REASON: dict[str, FailureClass] = {
    **{reason: failure_class for failure_class, reason in REASON_OF_CLASS.items()},
    "execution_deadline": "timeout",
    "child_failed": "logical",
    "address_refused": "denied",
    "invalid_parameters": "invalid",
    "invalid_result": "invalid",
    "template_error": "invalid",
    "unknown_workflow": "not_found",
    "unknown_action": "not_found",
}


def _evidence(facts: Facts) -> dict[str, Any]:
    """Returns the facts that are set, as JSON. They are stored, and conditions read them."""
    data = facts.data
    evidence: dict[str, Any] = to_builtins(facts if data is None else replace(facts, data=None))
    for name in _NO_EVIDENCE:
        evidence.pop(name, None)
    if facts.exception_bases:
        evidence["exception_bases"] = list(facts.exception_bases)
    if data is not None and data is not False:  # not copied, since it may be large
        evidence["data"] = data
    return evidence


def _message(facts: Facts, reason: str) -> str:
    """Returns the message of a failure that came without one."""
    match reason.partition("_")[0]:
        case "http" if facts.status_code is not None:
            return _status_line(facts.status_code)
        case "exit" if facts.exit_code is not None:
            return f"the process ended with exit code {facts.exit_code}"
        case "signal":
            return f"the process was killed by signal {reason.rpartition('_')[2]}"
        case "exception":
            return f"{facts.exception or reason.removeprefix('exception_')} was raised"
        case _:
            return REASONS.get(reason, reason.replace("_", " "))


def _status_line(code: int) -> str:
    try:
        return f"{code} {HTTPStatus(code).phrase}"
    except ValueError:
        return f"HTTP status {code}"
