"""Who may enter: settled when a server starts, and said in one line."""

from __future__ import annotations

import os
import pwd
import socket
from typing import Literal

from tenax import token_file
from tenax.errors import UsageError
from tenax.settings import Settings
from tenax.store.connect import Connection
from tenax.store.tables import tokens

TokenInFile = Literal["live", "unknown", "revoked", "absent"]
"""How the token in the file of this home stands in the database."""


def is_open(settings: Settings) -> bool:
    """Whether everyone is let in as long as there are no tokens. That is never so beyond loopback."""
    return settings.open and token_file.is_loopback(settings.host)


async def set_up_access(tx: Connection, settings: Settings, address: str) -> str:
    """Makes a token for the user who starts the server, where the database has none. Returns who may enter, in words.

    `address` is the one that the server has bound. Servers that start at once wait for each other here, so they agree on one token.
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
    if secret is None or state in ("live", "revoked"):  # live: that of a worker, which lets no person in
        made = tokens.new_secret()
        if secret is None:
            secret = token_file.keep_token(settings.home, made)
        else:
            token_file.replace_token(settings.home, secret := made)
    await tokens.adopt_token(tx, _user_name(), "admin", secret)
    how = {
        "absent": f"yours, of an admin, is new and in {file}",
        "unknown": f"this database did not know the one in {file} (it is new, or was reset), which is yours, of an admin, from now on",
    }.get(state, f"the one in {file} had been revoked, and a new one, of an admin, is in its place")
    return f"closed: tokens only; {how}"


async def _token_state(tx: Connection, secret: str | None) -> TokenInFile:
    if secret is None:
        return "absent"
    token = await tokens.find_token(tx, tokens.hash_secret(secret))
    if token is None:
        return "unknown"
    return "live" if token.revoked_at is None else "revoked"


def _describe_open(settings: Settings, address: str) -> str:
    if not is_open(settings):
        raise UsageError(
            f"listening on {settings.host or 'all addresses'} is refused: there is no token yet, and with --open "
            "anyone on the network could run anything",
            remedy="leave out --open (TENAX_OPEN), or listen on 127.0.0.1",
        )
    return (
        f"open: anyone who can reach {address} may run work as this user ({_user()}), until there is a token"
    )


def _describe_closed(settings: Settings, state: TokenInFile) -> str:
    file = token_file.token_file(settings.home)
    match state:
        case "live":
            return f"closed: tokens only; yours is in {file}"
        case "absent":
            return "closed: tokens only (tenax token create NAME --role ROLE makes one)"
        case _:
            why = "has been revoked" if state == "revoked" else "is not known to this database"
            return (
                f"closed: tokens only; the one in {file} {why}: "
                "remove that file, and set TENAX_TOKEN (tenax token create NAME --role ROLE makes one)"
            )


def _user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # no name for this uid, as in some containers
        return f"uid {os.geteuid()}"


def _user_name() -> str:
    """What the token is called, and so the actor of what is done with it."""
    return "".join(one if one.isprintable() else "-" for one in f"{_user()}@{socket.gethostname()}")
