"""Tells whether a list of a policy (`retry_on`, `never_on`, a rule's `on`) names a failure."""

from __future__ import annotations

from tenax.model.attempt.exceptions import exception_names
from tenax.model.attempt.outcome import Failure

_EXCEPTION = "exception_"


def names_reason(names: frozenset[str], failure: Failure) -> bool:
    """Tells whether the list names the failure's reason, or its exception by any name (`exception_OSError`)."""
    if not names:
        return False
    if failure.reason in names:
        return True
    evidence = failure.evidence
    if "exception" not in evidence or not any(name.startswith(_EXCEPTION) for name in names):
        return False
    known = exception_names(evidence["exception"], tuple(evidence.get("exception_bases", ())))
    return any(name.removeprefix(_EXCEPTION) in known for name in names if name.startswith(_EXCEPTION))


def names_failure(names: frozenset[str], failure: Failure) -> bool:
    """Tells whether the list names the failure by its class, its reason or its exception."""
    return failure.failure_class in names or names_reason(names, failure)
