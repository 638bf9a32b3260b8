"""Ready items: looked for, counted against limits, leased."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from tenax.model.json_text import decode
from tenax.store.arrays import column, lines
from tenax.store.connect import Connection
from tenax.store.rows import LeasedItem
from tenax.store.statements import sql

Level = tuple[str, int]
"""A queue and a priority."""
Share = tuple[str, int, str, int]
"""How many at most of a level are taken, of those in one state."""


@dataclass(frozen=True, slots=True)
class Terms:
    """How long a lease lasts, and what is added to an attempt's timeout before the server ends it."""

    lease: float
    grace: float


@dataclass(frozen=True, slots=True)
class Asking:
    """Requests of workers that are able to run the same things."""

    queues: tuple[str, ...]
    runtimes: tuple[str, ...]
    labels: str
    workers: tuple[str, ...]
    slots: int
    execution_id: int | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """A ready item, locked, with what decides on who may have it and when."""

    id: int
    queue: str
    priority: int
    waited: float
    """Seconds since it became ready."""
    again: bool
    """It is to be retried."""
    runtime: str
    labels: Mapping[str, str] | None
    refused_by: tuple[str, ...]
    suspect: bool
    lane: int
    gates: tuple[tuple[str, int], ...]


@cache
def _leasing(pick: str) -> str:
    """Which items, and what is done with them, as one statement."""
    return "with picked as materialized (\n" + pick + "),\n" + sql("lease_picked_items")


async def lease_ready(
    tx: Connection, asking: Asking, shares: Sequence[Share], slots: Sequence[tuple[str, str]], terms: Terms
) -> list[LeasedItem]:
    """The short way: common items, the n-th to the n-th slot (a worker and its grant)."""
    which = zip(*shares, strict=True)
    return await _lease(tx, sql("pick_ready_items"), slots, terms, *which, asking.runtimes, asking.labels)


async def lease_crowd(
    tx: Connection, asking: Asking, level: Level, lane: int, slots: Sequence[tuple[str, str]], terms: Terms
) -> list[LeasedItem]:
    """The short way of a crowd that has its queue to itself."""
    which = (*level, lane, asking.runtimes, asking.labels)
    return await _lease(tx, sql("pick_crowd_items"), slots, terms, *which)


async def lease_chosen(
    tx: Connection, items: Sequence[int], slots: Sequence[tuple[str, str]], terms: Terms
) -> list[LeasedItem]:
    return await _lease(tx, sql("pick_chosen_items"), slots, terms, items)


async def _lease(
    tx: Connection, pick: str, slots: Sequence[tuple[str, str]], terms: Terms, *which: Any
) -> list[LeasedItem]:
    tokens = new_tokens(len(slots))
    requests: dict[tuple[str, str], int] = {}
    of_slots = [requests.setdefault(slot, len(requests) + 1) for slot in slots]
    rows = await tx.fetch(
        _leasing(pick),
        *zip(*requests, strict=True),
        terms.lease,
        terms.grace,
        column(of_slots),
        lines(tokens),
        *which,
    )
    given: list[Any] = [(*slot, token) for slot, token in zip(slots, tokens, strict=True)]
    return [LeasedItem(*row, *given[row[0] - 1]) for row in rows]


def new_tokens(count: int) -> list[str]:
    """As UUIDs are written. PostgreSQL would open the source of randomness anew for each."""
    digits = os.urandom(16 * count).hex()
    return [
        f"{digits[n : n + 8]}-{digits[n + 8 : n + 12]}-{digits[n + 12 : n + 16]}-{digits[n + 16 : n + 20]}-{digits[n + 20 : n + 32]}"
        for n in range(0, 32 * count, 32)
    ]


async def find_common(tx: Connection, asking: Asking, levels: Mapping[Level, int], limit: int) -> list[Found]:
    """Candidates of these levels, of each up to its number."""
    rows = await tx.fetch(sql("find_common_items"), *_levels(levels), asking.runtimes, asking.labels, limit)
    return [_found(row) for row in rows]


async def find_special(
    tx: Connection,
    asking: Asking,
    levels: Mapping[Level, int],
    limit: int,
    after_lane: int,
    *,
    suspects: bool,
    further: int,
    unshared: bool,
    crowds: int,
) -> list[Found]:
    rows = await tx.fetch(
        sql("find_special_items"),
        *_levels(levels),
        asking.runtimes,
        asking.labels,
        limit,
        asking.workers,
        after_lane,
        suspects,
        further,
        unshared,
        crowds,
    )
    return [_found(row) for row in rows]


async def find_own(tx: Connection, asking: Asking) -> list[Found]:
    rows = await tx.fetch(
        sql("find_own_items"), asking.execution_id, asking.runtimes, asking.workers, asking.slots
    )
    return [_found(row) for row in rows]


def _levels(levels: Mapping[Level, int]) -> tuple[list[str], list[int], list[int]]:
    return [queue for queue, _ in levels], [priority for _, priority in levels], list(levels.values())


def _found(row: Any) -> Found:
    id_, queue, priority, waited, again, runtime, labels, refused_by, suspect, lane, *gates = row
    action, action_most, key, key_most = gates
    named = ((action, action_most), (key, key_most))
    return Found(
        id_, queue, priority, waited, again, runtime, decode(labels), tuple(refused_by or ()), suspect, lane,
        tuple((gate, most) for gate, most in named if gate is not None),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Head:
    """One level of a queue."""

    queue: str
    priority: int
    fresh: float | None
    """Seconds that the oldest common item which is ready and new has waited; None: there is none."""
    again: float | None
    """The same, of those that are to be retried."""
    lowest_lane: int | None
    highest_lane: int | None
    """Of what is not common."""
    lowest_waited: float | None
    """Seconds that the oldest of the lowest lane has waited; below 0: it is not due."""

    @property
    def special(self) -> bool:
        """There are others than common ones."""
        return self.lowest_lane is not None

    @property
    def waited(self) -> float | None:
        return max((w for w in (self.fresh, self.again) if w is not None), default=None)


async def look_at_queues(tx: Connection, queues: Sequence[str]) -> list[Head]:
    return [Head(*row) for row in await tx.fetch(sql("look_at_queues"), queues)]


async def count_gates(tx: Connection, gates: Sequence[str]) -> dict[str, int]:
    """How many run under each limit. From here to the end of the transaction nobody else adds to any."""
    await tx.execute(sql("lock_gates"))
    return {row["gate"]: row["running"] for row in await tx.fetch(sql("count_gates"), gates)}


async def open_gates(tx: Connection, gates: Sequence[str]) -> None:
    """For each of these places under a limit, the next item that waits for one."""
    await tx.execute(sql("open_gates"), gates)


async def block_items(tx: Connection, items: Sequence[Found], running: Mapping[str, int], most: int) -> None:
    """These wait at their limits, of which so many run; and those next to them in their lanes that do the same."""
    lanes = sorted({(item.queue, item.priority, item.lane) for item in items})
    await tx.execute(
        sql("block_items"),
        [item.id for item in items],
        [queue for queue, _, _ in lanes],
        [priority for _, priority, _ in lanes],
        [lane for _, _, lane in lanes],
        list(running),
        list(running.values()),
        most,
    )


async def find_suspecting_workers(tx: Connection, workers: Sequence[str]) -> set[str]:
    return {row["worker"] for row in await tx.fetch(sql("find_suspecting_workers"), workers)}


async def lock_probes(tx: Connection, workers: Sequence[str]) -> set[str]:
    """Those of them that may be given one item, by nobody else meanwhile."""
    return {row["name"] for row in await tx.fetch(sql("lock_probes"), workers)}


async def take_probes(tx: Connection, workers: Sequence[str]) -> None:
    await tx.execute(sql("take_probes"), workers)


@dataclass(frozen=True, slots=True)
class QueueLimit:
    """A limited queue, locked."""

    queue: str
    concurrency: int | None
    rate: float | None
    burst: int | None
    tokens: float
    at: datetime
    """When there were so many tokens."""
    running: int

    @property
    def quota(self) -> int:
        """How many may start now."""
        by_rate = int(self.tokens + 1e-9) if self.rate is not None else None
        by_count = max(0, self.concurrency - self.running) if self.concurrency is not None else None
        return min(n for n in (by_rate, by_count, 1_000_000) if n is not None)

    @property
    def next_token(self) -> float | None:
        """Seconds until another may start by the rate, where none may now."""
        if self.rate is None or self.tokens + 1e-9 >= 1:
            return None
        return (1 - self.tokens) / self.rate


async def lock_queue_limits(tx: Connection, queues: Sequence[str]) -> dict[str, QueueLimit]:
    """From here to the end of the transaction nobody else leases from them. They are counted once they are locked."""
    rows = await tx.fetch(sql("lock_queue_limits"), queues)
    counted = [row["queue"] for row in rows if row["concurrency"] is not None]
    counts = await tx.fetch(sql("count_leased_items"), counted) if counted else []
    running = {row["queue"]: row["running"] for row in counts}
    return {row["queue"]: QueueLimit(**row, running=running.get(row["queue"], 0)) for row in rows}


async def spend_tokens(tx: Connection, limits: Sequence[QueueLimit]) -> None:
    await tx.execute(
        sql("spend_tokens"),
        [limit.queue for limit in limits],
        [limit.tokens for limit in limits],
        [limit.at for limit in limits],
    )
