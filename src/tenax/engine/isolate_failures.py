"""Isolates items that cannot be processed: for a while they are left out, so that they do not stop the others, and then
they are tried again."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence

import structlog

from tenax.errors import Unreachable

PAUSE = 60.0
"""Seconds before an isolated item is tried again."""
_log = structlog.get_logger("tenax.isolate_failures")

Found = tuple[int, int]
"""The ids of a work item and of its execution."""


class IsolatedItems:
    def __init__(self) -> None:
        self._until: dict[int, float] = {}

    def isolate(self, id_: int) -> None:
        self._until[id_] = time.monotonic() + PAUSE

    @property
    def ids(self) -> list[int]:
        """The items that are isolated now."""
        now = time.monotonic()
        self._until = {id_: until for id_, until in self._until.items() if until > now}
        return list(self._until)

    async def process(
        self, found: Sequence[Found], act: Callable[[Sequence[Found]], Awaitable[int]], message: str
    ) -> int:
        """Processes all items together. If that fails, processes them one by one and isolates those that fail."""
        try:
            return await act(found)
        except Unreachable:
            raise
        except Exception:  # noqa: BLE001 -- a fault of one item must not stop the others
            return sum([await self._alone(one, act, message) for one in found])

    async def _alone(self, one: Found, act: Callable[[Sequence[Found]], Awaitable[int]], message: str) -> int:
        try:
            return await act([one])
        except Unreachable:
            raise
        except Exception:  # noqa: BLE001 -- the item is isolated, whatever its fault is
            _log.exception(message, item_id=one[0], execution_id=one[1])
            self.isolate(one[0])
            return 0
