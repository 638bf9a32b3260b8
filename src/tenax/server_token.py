"""Which server gets the token: a token belongs to a server, and a file that lies about must not send it elsewhere."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from tenax.errors import UsageError
from tenax.settings import Settings


def token_for(settings: Settings, servers: str) -> str | None:
    """Returns the token to show to these servers (URLs with commas between them).

    Raises UsageError if the `tenax.toml` of the working folder has named a server on another machine, and the token
    comes from somewhere else.
    """
    named_by = "server" if settings.server else "host"
    token, chosen = settings.token, settings.from_folder
    if token is None or named_by not in chosen or "token" in chosen or _on_this_machine(servers):
        return token
    raise UsageError(
        f"{settings.sources[named_by]}: a file of the working folder names this server, so it does not get the token "
        f"that was given elsewhere ({settings.sources['token']})",
        remedy="if it is the right server, say so yourself: --server URL, or TENAX_SERVER=URL",
    )


def _on_this_machine(servers: str) -> bool:
    return all(_is_loopback(urlsplit(server.strip()).hostname or "") for server in servers.split(","))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
