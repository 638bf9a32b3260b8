"""Tells whether a list of a policy (`retry_on`, `never_on`, a rule's `on`) names a failure."""

from __future__ import annotations

from typing import Self

from tenax.model.attempt.exceptions import names_of
from tenax.model.attempt.outcome import Failure

_EXCEPTION = "exception_"


class ExceptionName(str):
    """The qualified name of an exception as conditions see it. It equals each name that matches the exception."""

    __slots__ = ("_names",)
    _names: frozenset[str]

    def __new__(cls, exception: str, bases: tuple[str, ...]) -> Self:
        name = super().__new__(cls, exception)
        name._names = names_of(exception, bases)
        return name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and (str.__eq__(self, other) or str(other) in self._names)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


def exception_of(failure: Failure) -> ExceptionName | None:
    """Returns the exception of a failure, or None if it has none."""
    exception = failure.evidence.get("exception")
    if exception is None:
        return None
    return ExceptionName(exception, tuple(failure.evidence.get("exception_bases", ())))


def names_reason(names: frozenset[str], failure: Failure) -> bool:
    """Tells whether the list names the failure's reason, or its exception by any name (`exception_OSError`)."""
    if not names:
        return False
    if failure.reason in names:
        return True
    evidence = failure.evidence
    if "exception" not in evidence or not any(name.startswith(_EXCEPTION) for name in names):
        return False
    known = names_of(evidence["exception"], tuple(evidence.get("exception_bases", ())))
    return any(name.removeprefix(_EXCEPTION) in known for name in names if name.startswith(_EXCEPTION))


def names_failure(names: frozenset[str], failure: Failure) -> bool:
    """Tells whether the list names the failure by its class, its reason or its exception."""
    return failure.failure_class in names or names_reason(names, failure)
