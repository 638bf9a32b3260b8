"""Defines the name of an exception as conditions see it."""

from __future__ import annotations

from typing import Self

from tenax.model.attempt.exceptions import exception_names
from tenax.model.attempt.outcome import Failure


class ExceptionName(str):
    """Is the qualified name of an exception. It equals each name that matches the exception."""

    __slots__ = ("_names",)
    _names: frozenset[str]

    def __new__(cls, exception: str, bases: tuple[str, ...]) -> Self:
        name = super().__new__(cls, exception)
        name._names = exception_names(exception, bases)
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
