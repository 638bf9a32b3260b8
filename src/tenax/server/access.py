"""Decides when a server starts who may use it, and describes that in one line."""

from __future__ import annotations

import os
import pwd
import socket
from typing import Literal

from tenax.credentials import token_file
from tenax.engine.context import EngineContext
from tenax.errors import UsageError
from tenax.settings import Settings
from tenax.store.connect import Connection
from tenax.store.fleet import tokens

TokenInFile = Literal["live", "unknown", "revoked", "absent"]
"""What the database knows about the token in the file `$TENAX_HOME/token`."""


def is_server_open(settings: Settings) -> bool:
    """Returns whether requests without a token are allowed while there are no tokens. This is only possible on loopback."""
    return settings.open and token_file.is_loopback(settings.host)


async def set_up_access(tx: Connection, settings: Settings, address: str) -> str:
    """Makes a token for the user who starts the server if the database has none. Returns a line that says who may use the server.

    `address` is the bound address of the server. Servers that start at the same time wait for each other here, so they agree on one
    token.
    """
    await tokens.lock_tokens(tx)
    guarded = await tokens.any_live_token(tx)
    if settings.open and not guarded:
        return _describe_open(settings, address)
    secret = token_file.read_token(settings.home)
    state = await _token_state(tx, secret)
    file = token_file.token_file(settings.home)
    if guarded:
        return _describe_closed(settings, state)
    if secret is None or state in (
        "live",
        "revoked",
    ):  # a live token here is a worker's, which gives no access to people
        made = tokens.new_secret()
        if secret is None:
            secret = token_file.keep_token(settings.home, made)
        else:
            token_file.replace_token(settings.home, secret := made)
    await tokens.adopt_token(tx, _user_name(), "admin", secret)
    how = {
        "absent": f"a new admin token for you is in {file}",
        "unknown": f"this database (new, or reset) did not know the token in {file}, which is your admin token from now on",
    }.get(state, f"the token in {file} had been revoked and is replaced by a new admin token for you")
    return f"closed: tokens only; {how}"


async def own_token(context: EngineContext, settings: Settings) -> tokens.Token | None:
    """Returns the token of the user who starts the server, from the file of the home. Returns None if it gives no access to people."""
    if (secret := token_file.read_token(settings.home)) is None:
        return None
    async with context.statements() as tx:
        token = await tokens.find_token(tx, tokens.hash_secret(secret))
    return None if token is None or token.revoked_at is not None or token.role == "worker" else token


async def _token_state(tx: Connection, secret: str | None) -> TokenInFile:
    if secret is None:
        return "absent"
    token = await tokens.find_token(tx, tokens.hash_secret(secret))
    if token is None:
        return "unknown"
    return "live" if token.revoked_at is None else "revoked"


def _describe_open(settings: Settings, address: str) -> str:
    if not is_server_open(settings):
        raise UsageError(
            f"listening on {settings.host or 'all addresses'} is refused: there is no token yet, and with --open "
            "anyone on the network could run any command",
            remedy="leave out --open (TENAX_OPEN), or listen on 127.0.0.1",
        )
    return (
        f"open: anyone who can reach {address} may run work as this user ({_user()}), until there is a token"
    )


def _describe_closed(settings: Settings, state: TokenInFile) -> str:
    file = token_file.token_file(settings.home)
    match state:
        case "live":
            return f"closed: tokens only; your token is in {file}"
        case "absent":
            return "closed: tokens only (tenax token create NAME --role ROLE makes one)"
        case _:
            why = "has been revoked" if state == "revoked" else "is not known to this database"
            return (
                f"closed: tokens only; the token in {file} {why}: "
                "remove that file, and set TENAX_TOKEN (tenax token create NAME --role ROLE makes one)"
            )


def _user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # the uid has no name, as in some containers
        return f"uid {os.geteuid()}"


def _user_name() -> str:
    """Returns the name of the new token, which is also the actor of all that is done with it."""
    return "".join(one if one.isprintable() else "-" for one in f"{_user()}@{socket.gethostname()}")
