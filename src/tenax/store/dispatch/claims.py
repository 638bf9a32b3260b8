"""Finds ready items, counts them against limits, and leases them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from tenax.model.json_text import decode
from tenax.policy.dispatch.assignment import Candidate, ItemLimit
from tenax.policy.dispatch.claim_plan import Level, LevelSnapshot, Share
from tenax.store.array_params import attributes, column, lines
from tenax.store.connect import Connection
from tenax.store.rows import LeasedItem
from tenax.store.statements import sql


@dataclass(frozen=True, slots=True)
class LeaseTerms:
    """Holds the seconds that a lease lasts, and the seconds that the server waits beyond an attempt's timeout before it ends the attempt."""

    lease: float
    grace: float


@dataclass(frozen=True, slots=True)
class WorkerGroup:
    """Holds lease requests of workers that are able to run the same items."""

    queues: tuple[str, ...]
    runtimes: tuple[str, ...]
    labels: str
    workers: tuple[str, ...]
    slots: int
    execution_id: int | None = None
    """The only execution that the workers serve, with its children."""


@cache
def _leasing(pick: str) -> str:
    """Joins a statement that picks items with the one that leases them."""
    return "with picked as materialized (\n" + sql(pick) + "),\n" + sql("lease_picked_items")


async def lease_ready(
    tx: Connection,
    group: WorkerGroup,
    shares: Sequence[Share],
    slots: Sequence[tuple[str, str]],
    terms: LeaseTerms,
) -> list[LeasedItem]:
    """Leases the items of these shares. The n-th item goes to the n-th slot, which is a worker and its grant."""
    columns = zip(*shares, strict=True)
    return await _lease(tx, "pick_ready_items", slots, terms, *columns, group.runtimes, group.labels)


async def lease_chosen(
    tx: Connection, items: Sequence[int], slots: Sequence[tuple[str, str]], terms: LeaseTerms
) -> list[LeasedItem]:
    """Leases these items, one to each slot. Items that another server has leased meanwhile are left out."""
    return await _lease(tx, "pick_chosen_items", slots, terms, items)


async def _lease(
    tx: Connection, pick: str, slots: Sequence[tuple[str, str]], terms: LeaseTerms, *which: Any
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
    """Makes lease tokens, written as UUIDs. They are made here because PostgreSQL would open its source of randomness for each of them."""
    digits = os.urandom(16 * count).hex()
    return [
        f"{digits[n : n + 8]}-{digits[n + 8 : n + 12]}-{digits[n + 12 : n + 16]}-{digits[n + 16 : n + 20]}-{digits[n + 20 : n + 32]}"
        for n in range(0, 32 * count, 32)
    ]


async def find_unrestricted(
    tx: Connection, group: WorkerGroup, levels: Mapping[Level, int], limit: int
) -> list[Candidate]:
    """Finds unrestricted items: up to each level's number of new items, and as many retries."""
    columns = _level_columns(levels)
    rows = await tx.fetch(sql("find_unrestricted_items"), *columns, group.runtimes, group.labels, limit)
    return [_candidate(row) for row in rows]


async def find_restricted(
    tx: Connection,
    group: WorkerGroup,
    levels: Mapping[Level, int],
    limit: int,
    after_lane: int,
    *,
    suspects: bool,
    extra: int,
    max_lanes: int,
    divided: bool,
) -> list[Candidate]:
    """Finds restricted items: those of fan-outs, and limited, refused and suspect ones. The fan-out behind `after_lane`
    comes first.

    If `divided`, up to `max_lanes` fan-outs of a level share the level's number. Otherwise each of them may have all of
    it. Up to `extra` more items belong to no fan-out.
    """
    rows = await tx.fetch(
        sql("find_restricted_items"),
        *_level_columns(levels),
        group.runtimes,
        group.labels,
        limit,
        group.workers,
        after_lane,
        suspects,
        extra,
        max_lanes,
        divided,
    )
    return [_candidate(row) for row in rows]


async def find_own(tx: Connection, group: WorkerGroup) -> list[Candidate]:
    """Finds items of the one execution that the group serves."""
    arguments = (group.execution_id, group.runtimes, group.workers, group.slots)
    return [_candidate(row) for row in await tx.fetch(sql("find_own_items"), *arguments)]


def _level_columns(levels: Mapping[Level, int]) -> tuple[list[str], list[int], list[int]]:
    return [queue for queue, _ in levels], [priority for _, priority in levels], list(levels.values())


def _candidate(row: Any) -> Candidate:
    id_, queue, runtime, labels, refused_by, suspect, priority, waited, is_retry, lane, *limits = row
    action, action_most, key, key_most = limits
    named = ((action, action_most), (key, key_most))
    return Candidate(
        id_, queue, runtime, decode(labels), tuple(refused_by or ()), suspect, priority, waited, is_retry, lane,
        tuple(ItemLimit(name, most) for name, most in named if name is not None),
    )  # fmt: skip


async def read_queues(tx: Connection, queues: Sequence[str]) -> tuple[LevelSnapshot, ...]:
    """Reads the ready items at each priority of these queues. Levels without any are left out."""
    rows = await tx.fetch(sql("read_queues"), queues)
    return tuple(LevelSnapshot(*row) for row in rows if tuple(row)[2:5] != (None, None, None))


async def count_running(tx: Connection, limits: Sequence[str]) -> dict[str, int]:
    """Counts the items that run under each limit. No other transaction adds to a limit until this one ends."""
    await tx.execute(sql("lock_limits"))
    return {row["name"]: row["running"] for row in await tx.fetch(sql("count_running_items"), limits)}


async def unblock_items(tx: Connection, limits: Sequence[str]) -> None:
    """Makes blocked items of these limits ready again. A limit that is named several times unblocks as many items."""
    await tx.execute(sql("unblock_items"), limits)


async def block_items(
    tx: Connection, items: Sequence[Candidate], running: Mapping[str, int], most: int
) -> None:
    """Takes items out of the queue whose limit is reached. Checks the next `most` items in their lanes too."""
    lanes = sorted({(item.queue, item.priority, item.lane) for item in items})
    await tx.execute(
        sql("block_items"),
        [item.id for item in items],
        *map(list, zip(*lanes, strict=True)),
        list(running),
        list(running.values()),
        most,
    )


async def find_suspecting_workers(tx: Connection, workers: Sequence[str]) -> set[str]:
    return {row["worker"] for row in await tx.fetch(sql("find_suspecting_workers"), workers)}


async def lock_probes(tx: Connection, workers: Sequence[str]) -> set[str]:
    """Locks the workers that may be probed, and returns their names. Only this transaction may give them an item."""
    return {row["name"] for row in await tx.fetch(sql("lock_probes"), workers)}


async def take_probes(tx: Connection, workers: Sequence[str]) -> None:
    await tx.execute(sql("take_probes"), workers)


@dataclass(frozen=True, slots=True)
class QueueLimit:
    """Is the locked limit of a queue."""

    queue: str
    concurrency: int | None
    rate: float | None
    burst: int | None
    tokens: float
    at: datetime
    """The time for which `tokens` was computed."""
    running: int

    @property
    def quota(self) -> int:
        """Returns the number of items that may start now."""
        by_rate = int(self.tokens + 1e-9) if self.rate is not None else None
        by_count = max(0, self.concurrency - self.running) if self.concurrency is not None else None
        return min(n for n in (by_rate, by_count, 1_000_000) if n is not None)

    @property
    def next_token(self) -> float | None:
        """Returns the seconds until the rate allows another start. Returns None if it allows one now."""
        if self.rate is None or self.tokens + 1e-9 >= 1:
            return None
        return (1 - self.tokens) / self.rate


async def lock_queue_limits(tx: Connection, queues: Sequence[str]) -> dict[str, QueueLimit]:
    """Locks the limits of queues until the transaction ends, so that no other claim leases from these queues. Counts
    their running items."""
    rows = await tx.fetch(sql("lock_queue_limits"), queues)
    counted = [row["queue"] for row in rows if row["concurrency"] is not None]
    counts = await tx.fetch(sql("count_leased_items"), counted) if counted else []
    running = {row["queue"]: row["running"] for row in counts}
    return {row["queue"]: QueueLimit(**row, running=running.get(row["queue"], 0)) for row in rows}


async def spend_tokens(tx: Connection, limits: Sequence[QueueLimit]) -> None:
    await tx.execute(sql("spend_tokens"), *attributes(limits, "queue", "tokens", "at"))
