"""Who asks, and whether they may. Every request passes here before anything of it is read, but for what is public."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.types import Scope

from tenax.engine.context import Core
from tenax.errors import Forbidden, Unauthorized, UsageError
from tenax.store.tables.tokens import Role, any_live_token, find_token, hash_secret
from tenax.token_file import is_loopback

TOKEN_CACHE_SECONDS = 5.0
"""Seconds for which a token is not looked up again: the most by which a revocation is late."""
HEALTH = frozenset({"/healthz", "/readyz"})
CALLBACKS = "/v1/callbacks/"
"""What is below needs no token: it has no way in but the receipt that is part of its path."""


@dataclass(frozen=True, slots=True)
class Principal:
    """Who a request comes from. Its name is the actor of what it does."""

    name: str
    role: Role
    token_id: int | None = None


_CHECK_YOURS = "check TENAX_TOKEN, or the file TENAX_HOME/token where that is not set; `tenax token list` shows the live ones"
ANONYMOUS = Principal("anonymous@loopback", "admin")


def is_allowed(role: Role, method: str, path: str) -> bool:
    """Workers lease and report, viewers read, operators act on executions and the fleet, admins do all that and make tokens."""
    if role == "admin":
        return True
    if path.startswith("/v1/worker/"):
        return role == "worker"
    if path.startswith("/v1/tokens"):
        return False
    if method in ("GET", "HEAD"):
        return role in ("viewer", "operator")
    return role == "operator"


def is_public(path: str) -> bool:
    """Is this open to anyone, without a token?"""
    return path in HEALTH or path.startswith(CALLBACKS)


class Authenticator:
    """Knows the live tokens it has seen, for a few seconds each, so that a request seldom costs a look at the database.

    `is_open`: as long as there are no tokens, everyone is let in.
    """

    def __init__(self, core: Core, *, is_open: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._core = core
        self._is_open = is_open
        self._clock = clock
        self._known: dict[bytes, tuple[Principal, float]] = {}
        self._guarded = (True, float("-inf"))

    async def admit(self, scope: Scope) -> Principal:
        """The principal of a request; raises `Unauthorized` or `Forbidden`."""
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        principal = await self._identify(headers)
        method, path = scope["method"], scope["path"]
        if not is_allowed(principal.role, method, path):
            raise Forbidden(
                f"the token {principal.name!r} has the role {principal.role}, which may not {method} {path}",
                remedy="use a token of another role: tenax token create NAME --role ROLE",
            )
        return principal

    def forget(self) -> None:
        """After a change of the tokens through this very server."""
        self._known.clear()
        self._guarded = (True, float("-inf"))

    async def _identify(self, headers: dict[bytes, str]) -> Principal:
        given = headers.get(b"authorization")
        if given is not None and (principal := await self._bearer(given)) is not None:
            return principal
        if self._is_open and not await self._has_tokens():
            _refuse_other_sites(headers)
            return ANONYMOUS
        if given is not None:
            raise Unauthorized("the token is unknown", remedy=_CHECK_YOURS)
        raise Unauthorized(
            "this server wants a token",
            remedy="set TENAX_TOKEN (an admin makes one: tenax token create); the user who started the server on this machine "
            "needs none: theirs is in TENAX_HOME/token",
        )

    async def _bearer(self, given: str) -> Principal | None:
        """Returns the principal of a live token. None: this database has never had the token, so it is another server's."""
        scheme, _, secret = given.partition(" ")
        if scheme.lower() != "bearer" or not secret.strip():
            raise Unauthorized("the header Authorization is not of the form `Bearer TOKEN`")
        secret_hash, now = hash_secret(secret.strip()), self._clock()
        principal, until = self._known.get(secret_hash, (None, 0.0))
        if principal is not None and now < until:
            return principal
        # Not from the pool that views share: whoever reads much must not keep workers from coming in.
        async with self._core.statements() as tx:
            token = await find_token(tx, secret_hash)
        if token is None or token.revoked_at is not None:
            self._known.pop(secret_hash, None)
            if token is None:
                return None
            raise Unauthorized("the token has been revoked", remedy=_CHECK_YOURS)
        principal = Principal(token.name, token.role, token.id)
        self._known[secret_hash] = (principal, now + TOKEN_CACHE_SECONDS)
        return principal

    async def _has_tokens(self) -> bool:
        guarded, until = self._guarded
        now = self._clock()
        if now >= until:
            async with self._core.statements() as tx:
                guarded = await any_live_token(tx)
            self._guarded = (guarded, now + TOKEN_CACHE_SECONDS)
        return guarded


def _refuse_other_sites(headers: dict[bytes, str]) -> None:
    """Open access is for programs on this machine, not for any web page that is open in its browser."""
    host, origin = headers.get(b"host", ""), headers.get(b"origin")
    if host and not is_loopback(urlsplit(f"//{host}").hostname or ""):
        raise UsageError(
            f"this server has no tokens, so it answers only to loopback names, not to {host!r}",
            remedy="use 127.0.0.1 or localhost in its address, or create a token: tenax token create",
        )
    if origin is not None and urlsplit(origin).netloc != host:
        raise Forbidden(
            f"this server has no tokens, so it refuses requests of web pages from {origin!r}",
            remedy="create a token: tenax token create",
        )
