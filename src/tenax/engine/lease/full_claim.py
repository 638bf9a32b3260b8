"""Makes full claims: finds candidates, orders them by pure functions, and locks and leases only the chosen ones.

A full claim serves what a short claim cannot: limits of queues and items, refused items, suspects, several fan-outs, several priorities,
workers with different abilities, probes, and the worker of one execution. It needs a transaction.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import partial

from tenax.engine.fleet.fleet_view import Fleet
from tenax.engine.lease.claim_requests import ClaimRequests
from tenax.policy.dispatch.assignment import PROBE, Candidate, Offer, admit, assign, is_at_a_limit
from tenax.policy.dispatch.claim_plan import MAX_CLAIM_SIZE, Level, LevelSnapshot, QueueSnapshot
from tenax.policy.dispatch.fair_turns import FairTurns, order_candidates
from tenax.store.connect import Connection
from tenax.store.dispatch import claims
from tenax.store.dispatch.claims import LeaseTerms, QueueLimit, WorkerGroup
from tenax.store.rows import LeasedItem

MAX_LANES = 64
"""Fan-outs of one level that a claim reads. The next claim goes on behind them. If they have too few items, all are
read."""
ALL_LANES = 1_000_000_000  # more than any number of fan-outs: all are read
EXTRA_CANDIDATES = 50
"""Candidates beyond the number of slots, because the first candidates may go to other workers or may have to wait."""
MAX_BLOCKED = 1000
"""Items of one lane that are blocked together when their limit is reached."""


@dataclass(slots=True)
class Claimed:
    """Holds the result of one claim."""

    items: list[LeasedItem] = field(default_factory=list)
    lanes: Sequence[int] = ()
    """The lanes of the items of a full claim, in serving order."""
    probed: list[str] = field(default_factory=list)
    blocked: int = 0
    missed: int = 0
    """The number of chosen items that another server leased first. Other items may be left."""
    next_token: float | None = None
    """Seconds until the rate of a queue allows another start, if a rate stopped the claim."""

    @property
    def progress(self) -> int:
        """A number above 0 if another claim is worth while."""
        return len(self.items) + self.blocked + self.missed


class FullClaim:
    def __init__(self, fleet: Fleet, terms: LeaseTerms, *, ageing: float) -> None:
        self._terms = terms
        self._ageing = ageing
        self._fleet = fleet

    async def take(
        self, tx: Connection, asked: ClaimRequests, snapshot: QueueSnapshot, turns: FairTurns
    ) -> Claimed:
        """Leases ready items to the fleet, at the levels of the snapshot."""
        if not snapshot.levels:
            return Claimed()
        limits = await self._lock_limits(tx, self._fleet.limited & asked.queues)
        search = _Search(tx, asked, snapshot, _quotas(limits), turns)
        found, offers = await search.find(), asked.offers
        if any(item.suspect for item in found):
            running = await claims.find_suspecting_workers(tx, [offer.worker for offer in offers])
            offers = [replace(offer, suspects=offer.worker in running) for offer in offers]
            found = await search.find(running)
        ordered = order_candidates(found, turns.since_fan_out, self._ageing)
        return await self._lease(tx, replace(asked, offers=offers), ordered, limits)

    async def take_own(self, tx: Connection, asked: ClaimRequests) -> Claimed:
        """Leases items to the worker of one execution. No other worker runs them: it takes items of any queue and
        labels, and suspects."""
        limits = await self._lock_limits(tx, self._fleet.limited)
        found = await claims.find_own(tx, asked.groups[0])
        return await self._lease(tx, asked, found, limits, own_queue=asked.groups[0].queues[0])

    async def _lock_limits(self, tx: Connection, queues: AbstractSet[str]) -> dict[str, QueueLimit]:
        return await claims.lock_queue_limits(tx, sorted(queues)) if queues else {}

    async def _lease(
        self,
        tx: Connection,
        asked: ClaimRequests,
        ordered: Sequence[Candidate],
        limits: Mapping[str, QueueLimit],
        own_queue: str | None = None,
    ) -> Claimed:
        """Leases, in this order, the candidates that are within every limit and fit a free slot."""
        names = sorted({limit.name for item in ordered for limit in item.limits})
        running = await claims.count_running(tx, names) if names else {}
        admitted = admit(ordered, running, _quotas(limits)) if names or limits else ordered
        wanted = admitted
        if own_queue is not None:
            wanted = [replace(item, queue=own_queue, labels=None, suspect=False) for item in admitted]
        pairs = assign(wanted, asked.offers)[:MAX_CLAIM_SIZE]
        claimed = Claimed()
        if pairs:
            chosen, slots = [id_ for id_, _ in pairs], [asked.slot(n) for _, n in pairs]
            claimed.items = await claims.lease_chosen(tx, chosen, slots, self._terms)
        ids = {item.id for item in claimed.items}
        taken = [item for item in admitted if item.id in ids]
        claimed.lanes = [item.lane for item in taken]
        claimed.missed = len(pairs) - len(taken)
        claimed.blocked = await _block(tx, [item for item in ordered if item.id not in ids], taken, running)
        claimed.next_token = await _spend_tokens(tx, taken, limits)
        claimed.probed = await _note_probes(tx, claimed.items, asked.offers)
        return claimed


@dataclass(frozen=True, slots=True)
class _Search:
    """Finds candidates for each group of workers."""

    tx: Connection
    asked: ClaimRequests
    snapshot: QueueSnapshot
    quotas: Mapping[str, int]
    turns: FairTurns

    async def find(self, suspecting: AbstractSet[str] = frozenset()) -> list[Candidate]:
        """Finds candidates. Workers in `suspecting` run a suspect already, and get no other."""
        found: dict[int, Candidate] = {}
        for group in self.asked.groups:
            # Unrestricted items may have come since the snapshot: restricted items must not keep them out.
            if levels := self._numbers(group, self.snapshot.levels):
                limit = 2 * self._most(group) * len(levels)
                for item in await claims.find_unrestricted(self.tx, group, levels, limit):
                    found.setdefault(item.id, item)
            if levels := self._numbers(group, self.snapshot.restricted):
                suspects = not suspecting >= set(group.workers)
                for item in await self._find_restricted(group, levels, suspects=suspects):
                    found.setdefault(item.id, item)
        return list(found.values())

    def _most(self, group: WorkerGroup) -> int:
        """Returns the number of candidates that a level can need. Some that several groups find go to another group."""
        return group.slots + (EXTRA_CANDIDATES if len(self.asked.groups) > 1 else 0)

    def _numbers(self, group: WorkerGroup, levels: Sequence[LevelSnapshot]) -> dict[Level, int]:
        """Returns how many candidates of each level the group looks for."""
        most = self._most(group)
        numbers = {
            level.key: min(most, self.quotas.get(level.queue, most))
            for level in sorted(levels, key=lambda level: level.key)
            if level.queue in group.queues
        }
        return {level: number for level, number in numbers.items() if number > 0}

    async def _find_restricted(
        self, group: WorkerGroup, levels: Mapping[Level, int], *, suspects: bool
    ) -> list[Candidate]:
        """Divides the number of each level among its fan-outs. If a fan-out has less than its share, reads all items of
        all of them."""
        limit = len(levels) * (2 * group.slots + EXTRA_CANDIDATES + 2 * MAX_LANES)
        of_levels = (self.tx, group, levels, limit, self.turns.last_lane)
        find = partial(claims.find_restricted, *of_levels, suspects=suspects, extra=EXTRA_CANDIDATES)
        found = await find(max_lanes=min(group.slots, MAX_LANES), divided=True)
        if len(found) < group.slots or _is_share_left(found, levels):
            return await find(max_lanes=ALL_LANES, divided=False)
        return found


def _is_share_left(found: Sequence[Candidate], levels: Mapping[Level, int]) -> bool:
    """Returns whether a fan-out had less than its share of a level that it shares with others."""
    lanes: dict[Level, Counter[int]] = defaultdict(Counter)
    for item in found:
        if item.lane:
            lanes[item.queue, item.priority][item.lane] += 1
    return any(len(counts) > 1 and counts.total() < levels[level] for level, counts in lanes.items())


def _quotas(limits: Mapping[str, QueueLimit]) -> dict[str, int]:
    return {queue: limit.quota for queue, limit in limits.items()}


async def _block(
    tx: Connection, left: Sequence[Candidate], taken: Sequence[Candidate], running: Mapping[str, int]
) -> int:
    """Takes items whose limit is reached out of the queue until an item under that limit has ended. Returns their
    number.

    If such an item has another limit as well, its room there goes to the next item of that limit.
    """
    now_running = Counter(running)
    now_running.update(limit.name for item in taken for limit in item.limits)
    blocked = [item for item in left if is_at_a_limit(item, now_running)]
    if not blocked:
        return 0
    await claims.block_items(tx, blocked, now_running, MAX_BLOCKED)
    room = [limit.name for item in blocked for limit in item.limits if now_running[limit.name] < limit.most]
    if room:
        await claims.unblock_items(tx, room)
    return len(blocked)


async def _spend_tokens(
    tx: Connection, taken: Sequence[Candidate], limits: Mapping[str, QueueLimit]
) -> float | None:
    """Takes the tokens of started items from the rates of their queues. Returns the seconds until a token is available
    again.

    Returns None if every rate allows another start.
    """
    started = Counter(item.queue for item in taken)
    left = [
        replace(limit, tokens=limit.tokens - started[queue])
        for queue, limit in limits.items()
        if limit.rate is not None
    ]
    if taken and left:
        await claims.spend_tokens(tx, left)
    return min((wait for limit in left if (wait := limit.next_token) is not None), default=None)


async def _note_probes(tx: Connection, items: Sequence[LeasedItem], offers: Sequence[Offer]) -> list[str]:
    """Stores which workers have been probed by these items, and returns their names."""
    workers = {item.worker for item in items}
    probed = sorted({offer.worker for offer in offers if offer.rank == PROBE and offer.worker in workers})
    if probed:
        await claims.take_probes(tx, probed)
    return probed
