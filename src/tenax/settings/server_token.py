"""Chooses the token for a server. A file in the working folder must not send a token to another server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tenax.credentials.token_file import are_local, own_token
from tenax.errors import UsageError

if TYPE_CHECKING:
    from tenax.settings.model import Settings


def token_for(settings: Settings, servers: str) -> str | None:
    """Returns the token for these servers (URLs with commas between them).

    It is the given token, else the token of this home if all servers are on this machine. Raises UsageError if the
    `tenax.toml` of the working folder names a server on another machine and the token comes from somewhere else.
    """
    named_by = "server" if settings.server else "host"
    token, chosen = settings.token, settings.from_folder
    if token is None or named_by not in chosen or "token" in chosen or are_local(servers):
        return own_token(servers, token, settings.home)
    raise UsageError(
        f"{settings.sources[named_by]}: a file of the working folder names this server, so it does not get the token "
        f"that was given elsewhere ({settings.sources['token']})",
        remedy="if it is the right server, say so yourself: --server URL, or TENAX_SERVER=URL",
    )


def default_server(settings: Settings) -> str:
    """Returns the URL of a server with these settings, as seen from the same machine."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(settings.host, settings.host)  # noqa: S104 compared, not bound
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.port}"
