"""The turns of crowds. There is a short way for the most frequent case: one crowd, by itself or beside common items."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tenax.engine.asked import MOST_AT_ONCE, Asked, Outlook
from tenax.engine.common import Common
from tenax.engine.core import Core
from tenax.policy.offers import crowd_turns, since_crowd_after
from tenax.store import claims
from tenax.store.claims import Found, Level
from tenax.store.connect import Connection
from tenax.store.rows import LeasedItem


class CrowdTurns:
    """Whose turn it is, of crowds and others, and leases of the only crowd there is."""

    def __init__(self, core: Core, common: Common) -> None:
        self._core = core
        self._common = common
        self.since_crowd = 0
        """How many common items went since the last one of a crowd."""
        self.last_lane = 0

    def note_taken(self, taken: Iterable[Found]) -> None:
        """In the order in which they were served."""
        for item in taken:
            self.since_crowd = 0 if item.lane else self.since_crowd + 1
            self.last_lane = item.lane or self.last_lane

    async def lease(self, tx: Connection, asked: Asked, looked: Outlook) -> list[LeasedItem]:
        """Of the only crowd, and in turn of what is common. Nothing, where there is another, or where the crowd has a turn and
        something in front of it needs the full way."""
        if looked.only_crowd is None:
            return []
        slots = asked.in_order(MOST_AT_ONCE)
        turns = crowd_turns(len(slots), self.since_crowd) if looked.levels else len(slots)
        crowd = await self._lease_of(tx, asked, looked.only_crowd, slots[:turns])
        common: list[LeasedItem] = []
        if turns and not crowd:
            return []
        if looked.levels:
            common = await self._common.lease_slots(tx, asked, looked, slots[len(crowd) :])
            left = slots[len(crowd) + len(common) :]
            crowd += await self._lease_of(tx, asked, looked.only_crowd, left)
        if crowd:
            self.last_lane = looked.only_crowd[1]
        self.since_crowd = since_crowd_after(self.since_crowd, len(common), len(crowd))
        return crowd + common

    async def _lease_of(
        self, tx: Connection, asked: Asked, crowd: tuple[Level, int], slots: Sequence[tuple[str, str]]
    ) -> list[LeasedItem]:
        if not slots:
            return []
        return await claims.lease_crowd(tx, asked.groups[0], *crowd, slots, self._core.terms)
