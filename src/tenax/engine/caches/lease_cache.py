"""What this server has leased out: its memory, and nothing but that."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from tenax.store.rows import LeasedItem

MOST_REMEMBERED = 20_000


class LeaseCache:
    """What was leased through this server and is not reported yet, by token: a report on it need not be looked up. What is not
    here was leased by another server, or is late, or both: then the database is asked."""

    def __init__(self) -> None:
        self._by_token: dict[str, LeasedItem] = {}

    def note(self, items: Iterable[LeasedItem]) -> None:
        for item in items:
            item.element = item.previous = None  # its worker has them; they may be large
            self._by_token[item.lease_token] = item
        for token in list(islice(self._by_token, max(0, len(self._by_token) - MOST_REMEMBERED))):
            del self._by_token[token]

    def take(self, token: str) -> LeasedItem | None:
        return self._by_token.pop(token, None)
