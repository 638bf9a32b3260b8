"""Keeps the items that this server has leased out. It is only a cache."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from tenax.store.rows import LeasedItem

MOST_REMEMBERED = 20_000  # leases that are kept


class LeaseCache:
    """Keeps the items that were leased through this server and not reported yet, by lease token. A report on such an
    item needs no lookup. For any other token the database is asked: another server has leased the item, or the report
    is late."""

    def __init__(self) -> None:
        self._by_token: dict[str, LeasedItem] = {}

    def note(self, items: Iterable[LeasedItem]) -> None:
        for item in items:
            item.element = item.previous = None  # the worker has these values, and they may be large
            self._by_token[item.lease_token] = item
        for token in list(islice(self._by_token, max(0, len(self._by_token) - MOST_REMEMBERED))):
            del self._by_token[token]

    def take(self, token: str) -> LeasedItem | None:
        return self._by_token.pop(token, None)
