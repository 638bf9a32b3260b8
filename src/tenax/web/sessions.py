"""Signs and reads the cookies of people who are signed in to the dashboard."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie

SESSION_SECONDS = 7 * 86_400
"""Seconds until a person must sign in again. A session ends earlier if its token is revoked."""
ANONYMOUS_SESSION = "open"


@dataclass(frozen=True, slots=True)
class Session:
    """Says with which token a person has signed in. It has no secret: the cookie is signed, not encrypted."""

    token_id: int
    ends_at: int
    """Unix time."""
    nonce: str
    """Random text that makes the session unique, and its form token unknown to others."""


class Sessions:
    """Makes cookies that any server on the same database accepts. Servers keep no list of sessions."""

    def __init__(self, secret: Callable[[], bytes], *, clock: Callable[[], float] = time.time) -> None:
        self._secret = secret
        self._clock = clock

    @property
    def cookie_name(self) -> str:
        """Returns the name of the cookie. Browsers share cookies between the ports of a host, so each database has its own name."""
        return f"tenax_session_{self._sign('cookie name')[:8]}"

    def start(self, token_id: int) -> Session:
        return Session(token_id, int(self._clock()) + SESSION_SECONDS, secrets.token_urlsafe(12))

    def cookie(self, session: Session) -> str:
        value = f"{session.token_id}.{session.ends_at}.{session.nonce}"
        return f"{value}.{self._sign(f'session {value}')}"

    def read(self, cookies: str) -> Session | None:
        """Reads the header `Cookie`. Returns None if it has no session of this database that is signed and not over."""
        try:
            morsel = SimpleCookie(cookies).get(self.cookie_name)
        except CookieError:
            return None
        value, _, signature = (morsel.value if morsel else "").rpartition(".")
        if not value or not hmac.compare_digest(signature.encode(), self._sign(f"session {value}").encode()):
            return None
        token_id, ends_at, nonce = value.split(".")
        session = Session(int(token_id), int(ends_at), nonce)
        return session if session.ends_at > self._clock() else None

    def form_token(self, session: Session | None) -> str:
        """Returns the text that forms of this session must send, so that no other site can send them. None: the server is open."""
        return self._sign(f"form {session.nonce if session else ANONYMOUS_SESSION}")

    def _sign(self, text: str) -> str:
        return hmac.new(self._secret(), f"tenax dashboard: {text}".encode(), hashlib.sha256).hexdigest()
