"""Finds the addresses of local servers."""

from __future__ import annotations

import socket

from tenax.settings import Settings


def default_server(settings: Settings) -> str:
    """Where a server with these settings is found from the same machine."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(settings.host, settings.host)  # noqa: S104 compared, not bound
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.port}"


def free_port(host: str) -> int:
    """Chosen here, not by the server: after a restart it must be the same."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, 0))
        return int(probe.getsockname()[1])
