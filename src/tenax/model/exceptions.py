"""What exceptions say by their type alone. Both sides read it: the server classifies, the worker judges itself."""

from __future__ import annotations

PROGRAMMING_ERRORS = frozenset(
    f"builtins.{name}"
    for name in (
        "TypeError",
        "ValueError",
        "KeyError",
        "AttributeError",
        "NameError",
        "NotImplementedError",
        "AssertionError",
        "ImportError",
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
