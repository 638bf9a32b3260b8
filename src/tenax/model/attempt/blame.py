"""Tells which failures speak of the worker, rather than of the work or of what it talked to.

The server computes the health of workers by this rule, and a worker checks itself by it.
"""

from __future__ import annotations

import re

from tenax.model.attempt.outcome import Failure

_CRASH = re.compile(r"oom_killed|signal_\d+|exit_code_12[67]|exception_\w+|unclassified", re.ASCII)
"""126 and 127 are the shell's words for a command that cannot be run, or is not there."""

RETRY = "tenax.sdk.outcomes.Retry"
"""The qualified name of the exception by which a handler asks for another attempt."""
_DEADLINES = frozenset({"execution_deadline", "until_limit", "wait_deadline", "callback_deadline"})
"""Time that ran out for something larger than one attempt on one worker."""


def speaks_of_worker(failure: Failure, *, runtime: str, dependency: str | None) -> bool:
    """Tells whether a failure counts against the worker that ran the attempt. `dependency` is what the step names."""
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
    """Whether the handler itself wants another attempt: then it runs as it should."""
    evidence = failure.evidence
    return RETRY in (evidence.get("exception"), *evidence.get("exception_bases", ()))


def _talked(failure: Failure, runtime: str, dependency: str | None) -> bool:
    """Whether someone else had a part in it. One dependency that answers 503 must not stop the fleet."""
    evidence = failure.evidence
    return (
        runtime == "http"
        or bool(dependency or evidence.get("dependency"))
        or evidence.get("status_code") is not None
        or evidence.get("connection") is not None
    )
