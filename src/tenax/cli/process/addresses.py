"""Finds the addresses of local servers."""

from __future__ import annotations

import socket

from tenax.settings import Settings


def default_server(settings: Settings) -> str:
    """Returns the URL of a server with these settings, as seen from the same machine."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(settings.host, settings.host)  # noqa: S104 compared, not bound
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.port}"


def free_port(host: str) -> int:
    """Returns a free port. The supervisor chooses it and not the server, since it must stay the same after a restart."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, 0))
        return int(probe.getsockname()[1])
