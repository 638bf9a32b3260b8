"""Holds what all pages of the dashboard share, and decides who may open which page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.types import Scope

from tenax.engine.engine import Engine
from tenax.errors import Forbidden, Unauthorized
from tenax.store.fleet.tokens import Role, Token
from tenax.ui.assets import PREFIX as ASSETS
from tenax.ui.live.kept import KeptReadings
from tenax.ui.live.samples import Samples
from tenax.ui.live.topics import Topics
from tenax.ui.page import Page
from tenax.ui.rendering import Renderer
from tenax.web.auth import Authenticator, Principal, headers_of
from tenax.web.long_poll import LongPolls
from tenax.web.sessions import Session, Sessions
from tenax.web.sign_in_codes import SignInCodes

SIGN_IN = "/sign-in"
NOT_OURS = ("/v1", "/api", "/docs", "/openapi.json", "/metrics", "/healthz", "/readyz")
"""Paths of the API. Its errors are JSON, also for browsers."""
READING = ("GET", "HEAD")


@dataclass(frozen=True, slots=True)
class Visitor:
    """Is the person who asks for a page."""

    principal: Principal
    session: Session | None
    form_token: str
    """The text that the forms of this person must send."""
    is_program: bool = False
    """True if the request has a token of its own. Browsers never send one by themselves, so forms need no text."""

    @property
    def may_act(self) -> bool:
        """Returns whether the person may act on executions and the fleet. Templates show no buttons otherwise."""
        return self.principal.role in ("operator", "admin")

    @property
    def is_admin(self) -> bool:
        return self.principal.role == "admin"


class Dashboard:
    """Is the dashboard of one server."""

    def __init__(
        self, engine: Engine, authenticator: Authenticator, long_polls: LongPolls, pages: Sequence[Page]
    ) -> None:
        self.engine = engine
        self.authenticator = authenticator
        self.long_polls = long_polls
        self.pages = pages
        self.renderer = Renderer()
        self.topics = Topics()
        self.readings = KeptReadings()
        self.backlog = Samples()
        self.sessions = Sessions(lambda: engine.context.secret)
        self.codes = SignInCodes()

    def address(self, base: str, token: Token | None) -> str:
        """Returns the address of the dashboard of a server at `base`. With a token, whoever opens it first is signed in with that token."""
        if token is None:
            return f"{base}/"
        return f"{base}{SIGN_IN}?code={self.codes.make(token.id)}"

    def owns(self, scope: Scope) -> bool:
        """Returns whether a request is for the dashboard: by its path, or because a browser asks for a page that is not there."""
        path = scope["path"]
        if path.startswith(ASSETS) or self._page_at(path) is not None:
            return True
        if any(_is_below(path, api) for api in NOT_OURS):
            return False
        return "text/html" in headers_of(scope).get(b"accept", "")

    async def admit(self, scope: Scope) -> Visitor | None:
        """Returns the visitor of a request. Returns None for the files and the sign-in, which are open to everyone.

        Raises `Unauthorized` without a session, and `Forbidden` if the role may not do this or another site has sent it.
        """
        path, method, headers = scope["path"], scope["method"], headers_of(scope)
        if method not in READING:
            _refuse_other_sites(headers)
        if path.startswith(ASSETS) or _is_below(path, SIGN_IN):
            return None
        visitor = await self._identify(scope, headers)
        page = self._page_at(path)
        self._check_role(visitor.principal, method, path, admin_only=page is not None and page.admin_only)
        return visitor

    async def _identify(self, scope: Scope, headers: Mapping[bytes, str]) -> Visitor:
        if b"authorization" in headers:
            principal = await self.authenticator.identify(scope)
            return Visitor(principal, None, self.sessions.form_token(None), is_program=True)
        session = self.sessions.read(headers.get(b"cookie", ""))
        if session is not None and (found := await self.authenticator.with_id(session.token_id)) is not None:
            return Visitor(found, session, self.sessions.form_token(session))
        if (anyone := await self.authenticator.without_token(headers)) is not None:
            return Visitor(anyone, None, self.sessions.form_token(None))
        raise Unauthorized("you are not signed in", remedy=f"sign in at {SIGN_IN}")

    def _check_role(self, principal: Principal, method: str, path: str, *, admin_only: bool) -> None:
        role: Role = principal.role
        needed: Role | None = None
        if role == "worker":
            needed = "viewer"
        elif admin_only and role != "admin":
            needed = "admin"
        elif method not in READING and role == "viewer" and path != "/sign-out":
            needed = "operator"
        if needed is not None:
            raise Forbidden(
                f"the token {principal.name!r} has the role {role}, which may not {method} {path}",
                remedy=f"sign in with a token of the role {needed}: tenax token create NAME --role {needed}",
            )

    def _page_at(self, path: str) -> Page | None:
        return next((page for page in self.pages if _is_below(path, page.path)), None)


def _is_below(path: str, prefix: str) -> bool:
    return path == prefix or (prefix != "/" and path.startswith(f"{prefix}/"))


def _refuse_other_sites(headers: Mapping[bytes, str]) -> None:
    """Refuses forms that a page of another site has sent. Browsers say so in `Sec-Fetch-Site`, or else in `Origin`."""
    site, origin = headers.get(b"sec-fetch-site"), headers.get(b"origin")
    if site in ("same-origin", "none"):
        return
    if site is None and (origin is None or urlsplit(origin).netloc == headers.get(b"host", "")):
        return
    raise Forbidden(
        f"this form was sent by a page of another site ({origin or site})",
        remedy="open the dashboard itself, and send the form from there",
    )
