"""Makes the one-time codes with which the user who starts a server signs in to its dashboard."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

CODE_SECONDS = 15 * 60.0  # seconds for which a code may be used
AGAIN_SECONDS = 60.0
"""Seconds for which the page that has used a code may send it again. A browser that leaves its first request, because a person presses
the button of a page that sends itself or because the connection was lost, never sees the cookie in the answer."""
MOST_CODES = 100  # codes that a server keeps; the oldest is dropped


@dataclass(slots=True)
class _Code:
    token_id: int
    until: float
    page: str | None = None
    """The page that has used it. None: it was not used yet."""
    again_until: float = 0.0
    """The time until which that page may send it again."""


class SignInCodes:
    """Keeps the codes of this server in memory. Each can be used by one page."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._codes: dict[str, _Code] = {}

    def make(self, token_id: int) -> str:
        """Returns a new code that signs in with the token of this id."""
        while len(self._codes) >= MOST_CODES:
            del self._codes[next(iter(self._codes))]
        code = secrets.token_urlsafe(24)
        self._codes[code] = _Code(token_id, self._clock() + CODE_SECONDS)
        return code

    def take(self, code: str, page: str = "") -> int | None:
        """Uses a code. Returns the id of its token. Returns None if the code is unknown, too old, or used by another page.

        `page` is random text of the page that sends the code. A page without such text can send a code once.
        """
        found, now = self._codes.get(code), self._clock()
        if found is None or now >= found.until:
            return None
        if found.page is None:
            found.page, found.again_until = page, now + AGAIN_SECONDS
        elif not page or page != found.page or now >= found.again_until:
            return None
        return found.token_id

    def give_back(self, code: str) -> None:
        """Makes a code good again that was taken, and has signed nobody in."""
        if (found := self._codes.get(code)) is not None:
            found.page = None
