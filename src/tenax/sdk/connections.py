"""How a connection failed, read from the types of the errors in a chain and never from their text."""

from __future__ import annotations

import errno
import socket
import ssl
from collections.abc import Iterator

import httpx2

from tenax.model.outcome import Connection

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
"""For errors that were made by hand, without an errno."""
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


def connection_kind(error: BaseException) -> Connection:
    """The most telling cause in the chain of an error wins; the outermost error is the fallback."""
    chain = list(_chain(error))
    for cause in chain:
        if (kind := _of_cause(cause)) is not None:
            return kind
    match error:
        case httpx2.TimeoutException():
            return "timeout"
        case httpx2.RemoteProtocolError() if not any(_is_of_a_reader(cause) for cause in chain):
            return "reset"
        case httpx2.ProtocolError() | httpx2.DecodingError():
            return "protocol"
        case httpx2.ReadError() | httpx2.WriteError() | httpx2.CloseError():
            return "reset"
        case _:
            return "other"


def connection_words(kind: Connection) -> str:
    return _WORDS[kind]


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


def _is_of_a_reader(cause: BaseException) -> bool:
    """What reads answers complains of what it got. Where it does not, nothing came: the server hung up."""
    return type(cause).__module__.partition(".")[0] in ("h11", "h2")


def _by_type(error: OSError) -> Connection | None:
    return next((kind for known, kind in _BY_TYPE if isinstance(error, known)), None)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error and everything behind it, outermost first; groups are opened. Chains can be circular."""
    seen: set[int] = set()
    queue: list[BaseException | None] = [error]
    while queue:
        current = queue.pop(0)
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        queue += [current.__cause__, current.__context__]
        if isinstance(current, BaseExceptionGroup):
            queue += current.exceptions
