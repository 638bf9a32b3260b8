"""Makes the one-time codes with which the user who starts a server signs in to its dashboard."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable

CODE_SECONDS = 15 * 60.0  # seconds for which a code may be used
MOST_CODES = 100  # codes that a server keeps; the oldest is dropped


class SignInCodes:
    """Keeps the codes of this server in memory. Each can be used once."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._codes: dict[str, tuple[int, float]] = {}

    def make(self, token_id: int) -> str:
        """Returns a new code that signs in with the token of this id."""
        while len(self._codes) >= MOST_CODES:
            del self._codes[next(iter(self._codes))]
        code = secrets.token_urlsafe(24)
        self._codes[code] = (token_id, self._clock() + CODE_SECONDS)
        return code

    def take(self, code: str) -> int | None:
        """Returns the id of the token of a code, and forgets the code. Returns None if the code is unknown, used or too old."""
        token_id, until = self._codes.pop(code, (None, 0.0))
        return token_id if self._clock() < until else None
