"""Tells failures apart by the type of their exception. The server classifies by it, and the worker judges itself by it."""

from __future__ import annotations

import builtins
from functools import lru_cache

PROGRAMMING_ERRORS = frozenset(
    f"builtins.{name}"
    for name in (
        "TypeError",
        "ValueError",
        "KeyError",
        "IndexError",
        "AttributeError",
        "NameError",
        "UnboundLocalError",
        "NotImplementedError",
        "AssertionError",
        "ZeroDivisionError",
        "ImportError",
        "ModuleNotFoundError",
        "SyntaxError",
    )
)
"""The types of programming errors. Their subclasses are not included: a JSON error is a ValueError, but no programming error."""

CONNECTION_ERRORS = {
    "builtins.ConnectionRefusedError": "connection_refused",
    "builtins.ConnectionResetError": "connection_reset",
    "builtins.ConnectionAbortedError": "connection_reset",
    "builtins.BrokenPipeError": "connection_reset",
    "socket.gaierror": "connection_dns",
    "socket.herror": "connection_dns",
    "ssl.SSLError": "connection_tls",
    "builtins.ConnectionError": "connection_failed",
}
"""The reason for each type of connection error and its subclasses."""
PERMISSION_ERROR = "builtins.PermissionError"
VALIDATION_ERROR = "ValidationError"
"""The end of the names of validation errors. Every library has a type of its own."""


def lineage_of(exception: str, bases: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the qualified names of an exception's type and of its bases, nearest first.

    The bases of built-in types are known, so `ValueError` alone is enough for them.
    """
    bare = exception.removeprefix("builtins.")
    known = getattr(builtins, bare, None) if "." not in bare else None
    if isinstance(known, type) and issubclass(known, BaseException):
        return f"builtins.{known.__name__}", *(f"builtins.{base.__name__}" for base in known.__mro__[1:-1])
    return exception, *bases


@lru_cache(maxsize=1024)
def exception_names(exception: str, bases: tuple[str, ...]) -> frozenset[str]:
    """Returns every name that matches an exception: the bare and the qualified names of its type and its bases."""
    lineage = lineage_of(exception, bases)
    return frozenset(lineage) | {name.rpartition(".")[2] for name in lineage}
