"""Finds the cause of a network error from the types of the errors in its chain, and never from their text."""

from __future__ import annotations

import errno
import socket
import ssl
from collections.abc import Iterable, Iterator

from tenax.model.attempt.outcome import Connection

_BY_ERRNO: dict[int, Connection] = {
    errno.ECONNREFUSED: "refused",
    errno.ECONNRESET: "reset",
    errno.EPIPE: "reset",
    errno.ECONNABORTED: "reset",
    errno.EHOSTUNREACH: "unreachable",
    errno.ENETUNREACH: "unreachable",
    errno.ENETDOWN: "unreachable",
    errno.EHOSTDOWN: "unreachable",
    errno.EADDRNOTAVAIL: "unreachable",
    errno.ETIMEDOUT: "timeout",
}
_BY_TYPE: tuple[tuple[type[OSError], Connection], ...] = (
    (ConnectionRefusedError, "refused"),
    (ConnectionResetError, "reset"),
    (ConnectionAbortedError, "reset"),
    (BrokenPipeError, "reset"),
)
"""The kinds of errors that were raised without an errno."""
_WORDS: dict[Connection, str] = {
    "refused": "connection refused",
    "reset": "the connection was closed before an answer came",
    "dns": "the host name cannot be resolved",
    "timeout": "connection timed out",
    "tls": "the TLS handshake failed",
    "unreachable": "the network or host is unreachable",
    "protocol": "the answer was not HTTP, or broke off",
    "other": "connection failed",
}


def connection_words(kind: Connection) -> str:
    return _WORDS[kind]


def kind_of_causes(causes: Iterable[BaseException]) -> Connection | None:
    """Returns the first kind found. Returns None if no cause is an error of the operating system or of TLS."""
    for cause in causes:
        if (kind := _of_cause(cause)) is not None:
            return kind
    return None


def chain(error: BaseException) -> Iterator[BaseException]:
    """Yields an error and its causes, outermost first. Opens exception groups. Chains can be circular."""
    seen: set[int] = set()
    queue: list[BaseException | None] = [error]
    while queue:
        current = queue.pop(0)
        if current is not None and id(current) not in seen:
            seen.add(id(current))
            yield current
            queue += _right_behind(current)


def _right_behind(error: BaseException) -> list[BaseException | None]:
    inner = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return [error.__cause__, error.__context__, *inner]


def _of_cause(cause: BaseException) -> Connection | None:
    match cause:
        case socket.gaierror():
            return "dns"
        case ssl.SSLError():
            return "tls"
        case OSError():
            return _BY_ERRNO.get(cause.errno or 0) or _by_type(cause)
        case _:
            return None


def _by_type(error: OSError) -> Connection | None:
    for known, kind in _BY_TYPE:
        if isinstance(error, known):
            return kind
    return None
