"""What exceptions say by their type alone. Both sides read it: the server classifies, the worker judges itself."""

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
"""Exactly these are bugs. Not their subclasses: a JSON error is a ValueError, and says nothing of the code."""

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
"""The reason that each of them, and what descends from it, goes by."""
PERMISSION_ERROR = "builtins.PermissionError"
VALIDATION_ERROR = "ValidationError"
"""How the name of a type ends that says: these values cannot be used. Every library has its own."""


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
def names_of(exception: str, bases: tuple[str, ...]) -> frozenset[str]:
    """Returns every name that an exception is matched by: the bare and the qualified one of its type and its bases."""
    lineage = lineage_of(exception, bases)
    return frozenset(lineage) | {name.rpartition(".")[2] for name in lineage}
