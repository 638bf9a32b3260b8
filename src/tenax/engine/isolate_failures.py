"""What cannot be dealt with is left alone for a while: it must neither stop the others nor be forgotten."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence

import structlog

from tenax.errors import Unreachable

PAUSE = 60.0
"""Seconds before it is tried again."""
_log = structlog.get_logger("tenax.set_aside")

Found = tuple[int, int]
"""A work item and its execution."""


class IsolatedItems:
    def __init__(self) -> None:
        self._until: dict[int, float] = {}

    def put(self, id_: int) -> None:
        self._until[id_] = time.monotonic() + PAUSE

    @property
    def ids(self) -> list[int]:
        """What is to be left alone now."""
        now = time.monotonic()
        self._until = {id_: until for id_, until in self._until.items() if until > now}
        return list(self._until)

    async def deal(
        self, found: Sequence[Found], act: Callable[[Sequence[Found]], Awaitable[int]], complaint: str
    ) -> int:
        """All of them at once; should that break, one by one, so that only the broken ones are left."""
        try:
            return await act(found)
        except Unreachable:
            raise
        except Exception:  # noqa: BLE001 -- whatever one of them has, it must not keep the others back
            return sum([await self._alone(one, act, complaint) for one in found])

    async def _alone(
        self, one: Found, act: Callable[[Sequence[Found]], Awaitable[int]], complaint: str
    ) -> int:
        try:
            return await act([one])
        except Unreachable:
            raise
        except Exception:  # noqa: BLE001 -- as above
            _log.exception(complaint, item_id=one[0], execution_id=one[1])
            self.put(one[0])
            return 0
