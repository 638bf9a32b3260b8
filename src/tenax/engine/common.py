"""Common items for the slots that ask: those that any able worker may have, in the order of their queues."""

from __future__ import annotations

from collections.abc import Sequence

from tenax.engine.asked import MOST_AT_ONCE, Asked, Outlook
from tenax.engine.core import Core
from tenax.store import claims
from tenax.store.connect import Connection
from tenax.store.rows import LeasedItem

FEWEST_SLOTS = 8
"""A claim asks for at least so many: with fewer it would often have to ask twice."""


class Common:
    """Leases common items, and remembers how many there were and whose turn it is."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._turn = 0
        self._expected = FEWEST_SLOTS

    def note_taken(self, count: int) -> None:
        self._expected = max(FEWEST_SLOTS, 2 * count)

    async def lease(
        self, tx: Connection, asked: Asked, looked: Outlook, *, in_turn: bool = True, done: int = 0
    ) -> list[LeasedItem]:
        """First for as many slots as there was work for the last time, twice over: where little is ready, hundreds of free slots
        cost nothing. Where those are filled, for the rest. `done`: so many of the slots have been filled already."""
        if not looked.levels:
            return []
        some = asked.in_order(min(MOST_AT_ONCE, done + self._expected))[done:]
        items = await self.lease_slots(tx, asked, looked, some, in_turn=in_turn)
        if len(items) == len(some) < asked.slots - done:
            rest = asked.in_order(MOST_AT_ONCE)[done + len(some) :]
            items += await self.lease_slots(tx, asked, looked, rest, in_turn=in_turn)
        return items

    async def lease_slots(
        self,
        tx: Connection,
        asked: Asked,
        looked: Outlook,
        slots: Sequence[tuple[str, str]],
        *,
        in_turn: bool = True,
    ) -> list[LeasedItem]:
        """For these slots, whatever was there the last time."""
        if not slots:
            return []
        self._turn = 1 - self._turn  # who gets the odd one
        most = (len(slots) + self._turn) // 2 if in_turn else len(slots)
        shares = looked.shares(len(slots), most)
        items = await claims.lease_ready(tx, asked.groups[0], shares, slots, self._core.terms)
        if in_turn and looked.is_shared and len(items) < len(slots):
            # What some left of their half is for whoever is there.
            rest = slots[len(items) :]
            shares = looked.shares(len(rest), len(rest))
            items += await claims.lease_ready(tx, asked.groups[0], shares, rest, self._core.terms)
        return items
