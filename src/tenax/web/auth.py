"""Authenticates and authorises requests. Every request that is not public passes here before its body is read."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.types import Scope

from tenax.credentials.token_file import is_loopback
from tenax.engine.context import EngineContext
from tenax.errors import Forbidden, Unauthorized, UsageError
from tenax.store.fleet.tokens import Role, any_live_token, find_token, get_token, hash_secret

TOKEN_CACHE_SECONDS = 5.0
"""Seconds for which a token is cached. A revocation takes effect at most this late."""
HEALTH = frozenset({"/healthz", "/readyz"})
PACKS = "/v1/packs"
PAGE = "/docs"
"""The page that shows the API. The description that it reads, `/openapi.json`, is not public."""
CALLBACKS = "/v1/callbacks/"
"""Paths below this one need no token. The receipt in the path authorises the request."""


@dataclass(frozen=True, slots=True)
class Principal:
    """Identifies the caller of a request. Its name is the actor in the events that the request causes."""

    name: str
    role: Role
    token_id: int | None = None


_CHECK_YOURS = "check TENAX_TOKEN, or the file TENAX_HOME/token where that is not set; `tenax token list` shows the live ones"
ANONYMOUS = Principal("anonymous@loopback", "admin")


def is_allowed(role: Role, method: str, path: str) -> bool:
    """Returns whether a role may make a request.

    Workers lease and report, viewers read, and operators also act on executions and the fleet. Admins may do all that, manage
    tokens, and install packs: the actions of a pack run on every worker.
    """
    if role == "admin":
        return True
    if path.startswith("/v1/worker/"):
        return role == "worker"
    if path.startswith("/v1/tokens"):
        return False
    if method in ("GET", "HEAD"):
        return role in ("viewer", "operator")
    if path.startswith(PACKS):
        return False
    return role == "operator"


def is_public_path(path: str) -> bool:
    """Returns whether a path is open to everyone without a token."""
    return path in HEALTH or path in ("/", PAGE) or path.startswith((CALLBACKS, f"{PAGE}/"))


def headers_of(scope: Scope) -> dict[bytes, str]:
    return {name: value.decode("latin-1") for name, value in scope["headers"]}


class Authenticator:
    """Finds the caller of each request. Caches live tokens for a few seconds, so that few requests need the database.

    With `is_open`, requests without a token are allowed as long as there are no tokens.
    """

    def __init__(
        self, context: EngineContext, *, is_open: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._context = context
        self._is_open = is_open
        self._clock = clock
        self._known: dict[bytes, tuple[Principal, float]] = {}
        self._by_id: dict[int, tuple[Principal, float]] = {}
        self._guarded = (True, float("-inf"))

    async def admit(self, scope: Scope) -> Principal:
        """Returns the principal of a request. Raises `Unauthorized` or `Forbidden`."""
        principal = await self.identify(scope)
        method, path = scope["method"], scope["path"]
        if not is_allowed(principal.role, method, path):
            raise Forbidden(
                f"the token {principal.name!r} has the role {principal.role}, which may not {method} {path}",
                remedy="use a token of another role: tenax token create NAME --role ROLE",
            )
        return principal

    async def with_token(self, secret: str) -> Principal:
        """Returns the principal of a token's secret. Raises `Unauthorized` if the token is unknown or revoked."""
        principal = await self._bearer(f"Bearer {secret}")
        if principal is None:
            raise Unauthorized("the token is unknown", remedy="`tenax token list` shows the live tokens")
        return principal

    async def with_id(self, token_id: int) -> Principal | None:
        """Returns the principal of a live token. Returns None if the token is unknown or revoked."""
        principal, until = self._by_id.get(token_id, (None, 0.0))
        now = self._clock()
        if principal is not None and now < until:
            return principal
        async with self._context.statements() as tx:
            token = await get_token(tx, token_id)
        if token is None or token.revoked_at is not None:
            self._by_id.pop(token_id, None)
            return None
        principal = Principal(token.name, token.role, token.id)
        self._by_id[token_id] = (principal, now + TOKEN_CACHE_SECONDS)
        return principal

    async def without_token(self, headers: Mapping[bytes, str]) -> Principal | None:
        """Returns the principal of requests without a token on an open server. Returns None if the server requires one."""
        if not self._is_open or await self._has_tokens():
            return None
        _refuse_other_sites(headers)
        return ANONYMOUS

    def forget(self) -> None:
        """Drops all cached tokens. Called after a change of the tokens through this server."""
        self._known.clear()
        self._by_id.clear()
        self._guarded = (True, float("-inf"))

    async def identify(self, scope: Scope) -> Principal:
        """Returns the principal of a request, by its token or because the server is open."""
        headers = headers_of(scope)
        given = headers.get(b"authorization")
        if given is not None and (principal := await self._bearer(given)) is not None:
            return principal
        if (anyone := await self.without_token(headers)) is not None:
            return anyone
        if given is not None:
            raise Unauthorized("the token is unknown", remedy=_CHECK_YOURS)
        raise Unauthorized(
            "this server requires a token",
            remedy="set TENAX_TOKEN (an admin makes one: tenax token create); the user who started the server on this machine "
            "need not set it: their token is in TENAX_HOME/token",
        )

    async def _bearer(self, given: str) -> Principal | None:
        """Returns the principal of a live token. Returns None if the database does not know the token: it is another server's."""
        scheme, _, secret = given.partition(" ")
        if scheme.lower() != "bearer" or not secret.strip():
            raise Unauthorized("the header Authorization is not of the form `Bearer TOKEN`")
        secret_hash, now = hash_secret(secret.strip()), self._clock()
        principal, until = self._known.get(secret_hash, (None, 0.0))
        if principal is not None and now < until:
            return principal
        # This is not the pool that views share, so that many reading clients do not keep workers waiting.
        async with self._context.statements() as tx:
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
            async with self._context.statements() as tx:
                guarded = await any_live_token(tx)
            self._guarded = (guarded, now + TOKEN_CACHE_SECONDS)
        return guarded


class OwnProcess(Authenticator):
    """Lets code of this process make every request. The requests do not come over a connection."""

    def __init__(self, context: EngineContext, actor: str) -> None:
        super().__init__(context, is_open=False)
        self._principal = Principal(actor, "admin")

    async def identify(self, scope: Scope) -> Principal:  # noqa: ARG002 -- any request of this process
        return self._principal


def _refuse_other_sites(headers: Mapping[bytes, str]) -> None:
    """Refuses requests of web pages. Open access is for programs on this machine, and not for pages in its browser."""
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
