"""Makes the socket on which the server listens."""

from __future__ import annotations

import errno
import ipaddress
import socket
from urllib.parse import urlsplit

from tenax.errors import Unreachable, UsageError
from tenax.settings import Settings


def bound_socket(host: str, port: int) -> socket.socket:
    """Returns a bound socket that does not listen yet, so that no client connects before the server is ready."""
    try:
        [(family, kind, protocol, _, address), *_] = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (socket.gaierror, UnicodeError) as error:
        raise UsageError(
            f"{host!r} is no address of this machine: {error}", remedy="check --host (TENAX_HOST)"
        ) from error
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        listener.close()
        raise _bind_error(error, host, port) from error
    return listener


def url_of(listener: socket.socket) -> str:
    return _url(*listener.getsockname()[:2])


def local_address(url: str) -> str:
    """Returns the address of a server for a browser on its machine. A server that listens on all addresses also listens on loopback."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    address = ipaddress.ip_address(parts.hostname)
    return (
        _url("::1" if address.version == 6 else "127.0.0.1", parts.port or 0)
        if address.is_unspecified
        else url
    )


def callback_base(listener: socket.socket, settings: Settings) -> str:
    """Returns the URL at which callees of async steps reach the server: the setting, else the address on which it listens."""
    if settings.callback_url is not None:
        return settings.callback_url
    host, port = listener.getsockname()[:2]
    return _url(socket.gethostname() if ipaddress.ip_address(host).is_unspecified else host, port)


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _bind_error(error: OSError, host: str, port: int) -> Unreachable:
    where = f"port {port} on {host or 'all addresses'}"
    match error.errno:
        case errno.EADDRINUSE:
            return Unreachable(
                f"{where} is in use",
                remedy="is another server running? If not, choose another port: --port (TENAX_PORT)",
            )
        case errno.EACCES:
            return Unreachable(
                f"{where} may not be used by this user",
                remedy="choose a port above 1023: --port (TENAX_PORT)",
            )
        case errno.EADDRNOTAVAIL:
            return Unreachable(f"{host} is no address of this machine", remedy="check --host (TENAX_HOST)")
        case _:
            return Unreachable(f"cannot listen on {where}: {error.strerror or error}")
