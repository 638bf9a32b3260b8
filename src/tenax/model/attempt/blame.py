"""Decides which failures count against the worker, and not against the work or a dependency.

The server computes the health of workers by this rule, and a worker checks itself by it.
"""

from __future__ import annotations

import re

from tenax.model.attempt.outcome import Failure

_CRASH = re.compile(r"oom_killed|signal_\d+|exit_code_12[67]|exception_\w+|unclassified", re.ASCII)
"""Reasons that may count against the worker. The shell exits with 126 if a command cannot be run, and with 127 if it does not exist."""

RETRY = "tenax.sdk.outcomes.Retry"
"""The qualified name of the exception with which a handler asks for another attempt."""
_DEADLINES = frozenset({"execution_deadline", "until_limit", "wait_deadline", "callback_deadline"})
"""Reasons of timeouts that concern more than one attempt on one worker."""


def is_fault_of_worker(failure: Failure, *, runtime: str, dependency: str | None) -> bool:
    """Returns whether a failure counts against the worker that ran the attempt. `dependency` is the one that the step names."""
    match failure.failure_class:
        case "worker_lost":
            return True
        case "timeout":
            return failure.reason not in _DEADLINES and not _talked(failure, runtime, dependency)
        case "transient":
            crashed = _CRASH.fullmatch(failure.reason) is not None
            return crashed and not _asked(failure) and not _talked(failure, runtime, dependency)
        case _:
            return False


def _asked(failure: Failure) -> bool:
    """Returns whether the handler itself asked for another attempt, which is no fault of the worker."""
    evidence = failure.evidence
    return RETRY in (evidence.get("exception"), *evidence.get("exception_bases", ()))


def _talked(failure: Failure, runtime: str, dependency: str | None) -> bool:
    """Returns whether a dependency was involved. One dependency that answers 503 must not stop the fleet."""
    evidence = failure.evidence
    return (
        runtime == "http"
        or bool(dependency or evidence.get("dependency"))
        or evidence.get("status_code") is not None
        or evidence.get("connection") is not None
    )
