"""Reads pages of executions, and counts by state, in a bounded time: by windows of executions."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from tenax.model.filters.terms import EVERYTHING, Filter, Time, Words
from tenax.model.metrics.pages import StateCounts
from tenax.model.views import ExecutionSummary
from tenax.store.connect import Connection
from tenax.store.selection.conditions import anchor, limited_in_time, with_conditions
from tenax.store.statements import sql
from tenax.store.tables.executions import list_executions

PAGE_SECONDS = 0.05  # seconds that a page looks for executions
FIRST_WINDOW, LARGEST_WINDOW = 2_000, 16_000
"""Executions of a window. Each window is twice as large as the one before."""
COUNTED = 5_000  # executions of each kind that are looked at to count them
COUNTED_BY_TEXT = 2_000  # the same, for filters that look into inputs
OUT_OF_ORDER = timedelta(minutes=10)
"""By so much the times of two executions may be in another order than their ids."""
_INDEXED = frozenset(("key", "parent"))
_INDEXED_STATES = (frozenset(("running", "paused")), frozenset(("failed", "cancelled")))
_UNCOUNTED = frozenset(("text", "reason", "class", "step", "queue", "worker", "label"))
"""The fields that look at work items or into the log. Executions are not counted by them."""


@dataclass(frozen=True, slots=True)
class StoredPage:
    """A page of executions, each with the work item that it waits for, and how far the search was."""

    found: list[tuple[ExecutionSummary, int | None]]
    stopped: int | None
    """The last execution that was looked at, if the search stopped there. None: it looked at all of them."""
    stopped_at: datetime | None


async def find_page(
    tx: Connection, chosen: Filter, *, before: int | None, after: int | None, limit: int
) -> StoredPage:
    """Finds the next executions that a filter selects below `before`, or those above `after`. It looks at windows of
    executions for a while, and stops when the page is full, the time is over, or nothing is left."""
    chosen = await anchor(tx, chosen)
    search = _Search(tx, chosen, _narrow(chosen), limit)
    async with limited_in_time(tx):
        return await (search.older(before) if after is None else search.newer(after))


async def count_states(tx: Connection, chosen: Filter) -> StateCounts:
    """Counts the executions that a filter selects by state, among the newest ones. Counts nothing if that would take
    long."""
    fields = {term.field for term in chosen.terms if isinstance(term, Words)}
    if fields & _UNCOUNTED:
        return StateCounts(counts={}, at_least=[], looked=0)
    chosen = await anchor(tx, chosen)
    most = COUNTED_BY_TEXT if "input" in fields else COUNTED
    statement, arguments = with_conditions(sql("count_states"), chosen, most)
    async with limited_in_time(tx):
        row = await tx.fetchrow(statement, *arguments)
    looked = {
        "running": row["open_looked"],
        "paused": row["open_looked"],
        "completed": row["newest_looked"],
        "failed": row["unsuccessful_looked"],
        "cancelled": row["unsuccessful_looked"],
    }
    at_least: list[Any] = [state for state, seen in looked.items() if seen >= most]
    return StateCounts(counts={state: row[state] for state in looked}, at_least=at_least, looked=most)


def _narrow(chosen: Filter) -> Filter:
    """Returns the terms that an index serves in the order of the ids."""
    return Filter(tuple(term for term in chosen.terms if isinstance(term, Words) and _is_indexed(term)))


def _is_indexed(term: Words) -> bool:
    if term.negated or any(match.is_prefix for match in term.matches):
        return False
    values = {match.text for match in term.matches}
    return term.field in _INDEXED or (
        term.field == "status" and any(values <= states for states in _INDEXED_STATES)
    )


@dataclass(slots=True)
class _Search:
    tx: Connection
    chosen: Filter
    narrow: Filter
    limit: int

    async def older(self, before: int | None) -> StoredPage:
        found: list[tuple[ExecutionSummary, int | None]] = []
        place = await self._first_place(before)
        clock, size = _Clock(), FIRST_WINDOW
        while True:
            end = None if self._is_served else await self._window(sql("find_window"), place, size)
            lowest = None if end is None else end["id"]
            left = self.limit - len(found)
            found += await list_executions(self.tx, self.chosen, before=place, limit=left, lowest=lowest)
            if len(found) == self.limit or end is None or self._is_before_since(end["created_at"]):
                return StoredPage(found, None, None)
            place, size = lowest, min(2 * size, LARGEST_WINDOW)
            if clock.is_over:
                return StoredPage(found, place, end["created_at"])

    async def newer(self, after: int) -> StoredPage:
        ids: list[int] = []
        place, clock, size = after, _Clock(), FIRST_WINDOW
        stopped: Any = None
        while True:
            end = None if self._is_served else await self._window(sql("find_newer_window"), place, size)
            highest = None if end is None else end["id"]
            statement, arguments = with_conditions(
                sql("find_newer_executions"), self.chosen, place, self.limit - len(ids), highest
            )
            ids += [row["id"] for row in await self.tx.fetch(statement, *arguments)]
            if len(ids) == self.limit or end is None:
                break
            place, size = end["id"], min(2 * size, LARGEST_WINDOW)
            if clock.is_over:
                stopped = end
                break
        found = await self._listed(ids)
        return StoredPage(found, stopped and stopped["id"], stopped and stopped["created_at"])

    async def _listed(self, ids: list[int]) -> list[tuple[ExecutionSummary, int | None]]:
        if not ids:
            return []
        limits = {"before": ids[-1] + 1, "limit": len(ids), "lowest": ids[0]}
        return await list_executions(self.tx, self.chosen, **limits)

    @property
    def _is_served(self) -> bool:
        """Whether the indexes find the executions without looking at others."""
        times = sum(isinstance(term, Time) and term.field == "since" for term in self.chosen.terms)
        return len(self.narrow.terms) + times == len(self.chosen.terms) and (not times or not self.narrow)

    async def _window(self, text: str, place: int | None, size: int) -> Any:
        terms = self.narrow or EVERYTHING
        statement, arguments = with_conditions(text, terms, place, size)
        return await self.tx.fetchrow(statement, *arguments)

    async def _first_place(self, before: int | None) -> int | None:
        """Returns the execution below which the search begins: not long after `until`, if that is a term."""
        ends = [t.moment for t in self.chosen.terms if isinstance(t, Time) and t.field == "until"]
        moments = [moment for moment in ends if isinstance(moment, datetime)]
        if not moments:
            return before
        first: int | None = await self.tx.fetchval(sql("find_first_since"), min(moments) + OUT_OF_ORDER)
        return before if first is None else min(first, before or first)

    def _is_before_since(self, at: datetime) -> bool:
        """Returns whether all executions from here on were made before the time of a term `since`."""
        starts = [t.moment for t in self.chosen.terms if isinstance(t, Time) and t.field == "since"]
        return any(isinstance(one, datetime) and at < one - OUT_OF_ORDER for one in starts)


class _Clock:
    """Measures the time of a search."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._last = self._loop.time()
        self._end = self._last + PAGE_SECONDS

    @property
    def is_over(self) -> bool:
        """Whether a window that takes twice as long as the last one would end too late."""
        now, last = self._loop.time(), self._last
        self._last = now
        return now + 2 * (now - last) > self._end
