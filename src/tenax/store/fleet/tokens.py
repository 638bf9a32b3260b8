"""Stores tokens, which authorize callers. A secret is shown once, when it is made, and only its hash is stored."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from typing import Literal, get_args

from tenax.errors import Conflict, NotFound, UsageError
from tenax.model.events.audit import NewEntry
from tenax.model.fleet.health import SERVER_ACTOR
from tenax.store import audit
from tenax.store.connect import Connection
from tenax.store.statements import sql

Role = Literal["admin", "operator", "worker", "viewer"]
ROLES: tuple[Role, ...] = get_args(Role)

PREFIX = "tenax_"
"""Prefix by which scanners for leaked secrets, and people, recognise a token."""
SECRET_BYTES = 32  # random bytes of a secret
OWN_NAMES = "tenax:"
LONGEST_NAME = 100  # characters of a token's name
LARGEST_ID = 2**63 - 1  # largest id that PostgreSQL's bigint can hold


@dataclass(frozen=True, slots=True)
class Token:
    """A token without its secret."""

    id: int
    name: str
    role: Role
    created_at: datetime
    revoked_at: datetime | None


def hash_secret(secret: str) -> bytes:
    """Returns the hash of a secret. Plain SHA-256 is enough: 256 random bits cannot be guessed, however fast the hash
    is."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()


def new_secret() -> str:
    return PREFIX + secrets.token_urlsafe(SECRET_BYTES)


async def lock_tokens(tx: Connection) -> None:
    """Locks the tokens until the transaction ends, so that no other transaction changes them."""
    await tx.execute(sql("lock_tokens"))


async def adopt_token(tx: Connection, name: str, role: Role, secret: str) -> None:
    """Stores a token for an existing secret. If the name is in use it gets a number."""
    for attempt in count(1):
        numbered = name[:LONGEST_NAME] if attempt == 1 else f"{name[: LONGEST_NAME - 10]}-{attempt}"
        token_id = await tx.fetchval(sql("insert_token"), numbered, role, hash_secret(secret))
        if token_id is not None:
            await audit.insert_entries(tx, [_entry(SERVER_ACTOR, "token_create", token_id, numbered, role)])
            return


async def create_token(
    tx: Connection, name: str, role: str, *, actor: str = SERVER_ACTOR, reason: str | None = None
) -> tuple[int, str]:
    """Creates a token. Returns its id and its secret, which cannot be read again."""
    _check_name(name)
    if role not in ROLES:
        raise UsageError(f"there is no role {role!r}", remedy=f"the roles are {', '.join(ROLES)}")
    secret = new_secret()
    token_id: int | None = await tx.fetchval(sql("insert_token"), name, role, hash_secret(secret))
    if token_id is None:
        raise Conflict(
            f"there is a token named {name!r} already",
            remedy=f"choose another name, or revoke it first: tenax token revoke {name}",
        )
    await audit.insert_entries(tx, [_entry(actor, "token_create", token_id, name, role, reason)])
    return token_id, secret


async def list_tokens(tx: Connection) -> list[Token]:
    """Lists all tokens, including revoked ones."""
    return [Token(**row) for row in await tx.fetch(sql("list_tokens"))]


async def revoke_token(
    tx: Connection, which: int | str, *, actor: str = SERVER_ACTOR, reason: str | None = None
) -> list[Token]:
    """Revokes the token with this id, or all tokens with this name. A token that is revoked already stays so."""
    token_id = int(which) if isinstance(which, int) or _reads_as_id(which) else None
    name = which if isinstance(which, str) and token_id is None else None
    if (token_id or 0) > LARGEST_ID or "\0" in (name or ""):
        raise _no_token(which)
    rows = await tx.fetch(sql("revoke_tokens"), token_id, name)
    if not rows:
        raise _no_token(which)
    fresh = [
        _entry(actor, "token_revoke", row["id"], row["name"], row["role"], reason)
        for row in rows
        if row["live"]
    ]
    if fresh:
        await audit.insert_entries(tx, fresh)
    return [Token(**{name: value for name, value in row.items() if name != "live"}) for row in rows]


async def find_token(tx: Connection, secret_hash: bytes) -> Token | None:
    """Returns the token with this hash, live or revoked."""
    row = await tx.fetchrow(sql("find_token"), secret_hash)
    if row is None or not hmac.compare_digest(row["hash"], secret_hash):
        return None
    return Token(**{name: value for name, value in row.items() if name != "hash"})


async def get_token(tx: Connection, token_id: int) -> Token | None:
    """Returns the token with this id, live or revoked."""
    row = await tx.fetchrow(sql("get_token"), token_id)
    return None if row is None else Token(**row)


async def any_live_token(tx: Connection) -> bool:
    exists: bool = await tx.fetchval(sql("any_live_token"))
    return exists


def _entry(
    actor: str, action: str, token_id: int, name: str, role: str, reason: str | None = None
) -> NewEntry:
    """Returns the audit's entry for a token, which names it and never has its secret."""
    return NewEntry(actor, action, "token", str(token_id), reason=reason, data={"name": name, "role": role})


def _check_name(name: str) -> None:
    if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        raise UsageError(f"a token needs a name of 1 to {LONGEST_NAME} printable characters")
    if name.startswith(OWN_NAMES):
        raise UsageError(f"{name!r} cannot be the name of a token: such names are the server's own")
    if _reads_as_id(name):
        raise UsageError(
            f"{name!r} cannot be the name of a token: it reads as an id", remedy="put a letter into it"
        )


def _reads_as_id(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= LONGEST_NAME


def _no_token(which: int | str) -> NotFound:
    return NotFound(f"there is no token {which!r}", remedy="`tenax token list` shows the tokens there are")
