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
_WORDS: dict[Connection, str] = {
    "refused": "connection refused",
    "reset": "connection reset",
    "dns": "the host name cannot be resolved",
    "timeout": "connection timed out",
    "tls": "the TLS handshake failed",
    "unreachable": "the network or host is unreachable",
    "protocol": "the answer breaks the HTTP protocol",
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
            return _BY_ERRNO.get(cause.errno or 0)
        case _:
            return None


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
