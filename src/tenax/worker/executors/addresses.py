"""Implements the setting `http_addresses: public`: `http` steps connect to public addresses only.

The name of a host is resolved once for each connection. The addresses found are checked, and the connection goes to one of
them. The name is never resolved a second time, which could give another address. TLS still verifies the name of the host.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import socket
from collections.abc import Iterable
from contextlib import suppress
from typing import Any
from urllib.request import getproxies

import httpcore2
import httpx2

ADDRESS_SECONDS = 1.0
"""Seconds for which one of several addresses of a host is tried before the next."""
_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")
"""IPv4 addresses behind a NAT64 gateway."""
_TUNNELS = (ipaddress.IPv6Network("2001::/32"), ipaddress.IPv6Network("2002::/16"))
"""Teredo and 6to4. Their addresses contain an IPv4 address that anyone can choose."""

_log = logging.getLogger("tenax.worker")


class AddressRefused(Exception):
    """The host has no public address."""

    def __init__(self, host: str, address: str) -> None:
        where = host if host == address else f"{host} ({address})"
        super().__init__(
            f"{where} is no public address, and this worker connects to public addresses only: its setting "
            "http_addresses is public (TENAX_HTTP_ADDRESSES)"
        )


class PublicTransport(httpx2.AsyncHTTPTransport):
    """Connects to public addresses only. Proxies are not used: a proxy resolves names itself, so no address could be checked."""

    def __init__(self, limits: httpx2.Limits, network: httpcore2.AsyncNetworkBackend | None = None) -> None:
        """Prepares the transport. `network` makes the connections to the checked addresses."""
        trust = httpx2.create_ssl_context()
        super().__init__(verify=trust, limits=limits)
        if not isinstance(getattr(self, "_pool", None), httpcore2.AsyncConnectionPool):
            raise RuntimeError(
                "this version of httpx2 keeps its connections elsewhere: no address can be checked"
            )
        # The constructor above takes no network of our own. The pool that it made has not been used yet.
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=trust,
            max_connections=limits.max_connections,
            max_keepalive_connections=limits.max_keepalive_connections,
            keepalive_expiry=limits.keepalive_expiry,
            network_backend=_PublicNetwork(network or httpcore2.AnyIOBackend()),
        )
        if any(getproxies().get(scheme) for scheme in ("http", "https", "all")):
            _log.warning("http_addresses is public: the proxies of the environment are not used")


class _PublicNetwork(httpcore2.AsyncNetworkBackend):
    def __init__(self, network: httpcore2.AsyncNetworkBackend) -> None:
        self._network = network

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the library's signature
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        found = await _resolve(host, port)
        public = [address for address in found if is_public(address)]
        if not public:
            raise AddressRefused(host, found[0])
        more: dict[str, Any] = {"local_address": local_address, "socket_options": socket_options}
        for address in public[:-1]:
            with suppress(httpcore2.ConnectError, httpcore2.ConnectTimeout):
                return await self._network.connect_tcp(address, port, timeout=ADDRESS_SECONDS, **more)
        return await self._network.connect_tcp(public[-1], port, timeout=timeout, **more)


async def _resolve(host: str, port: int) -> list[str]:
    """Returns the addresses of a host, each once."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise httpcore2.ConnectError(str(error)) from error
    return list(dict.fromkeys(str(place[0]) for *_, place in found))


def is_public(address: str) -> bool:
    """Returns whether an address belongs to the public internet. An IPv6 address that tunnels an IPv4 address does not."""
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv6Address):
        if ip in _TRANSLATED:
            return is_public(str(ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)))
        if ip not in _GLOBAL_UNICAST or any(ip in tunnel for tunnel in _TUNNELS):
            return False
    return ip.is_global and not (ip.is_multicast or ip.is_reserved)
