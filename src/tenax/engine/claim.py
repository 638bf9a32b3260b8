"""Ready items for the requests that wait. There is a short way, one statement, for what any able worker may have; and a
full one, for crowds that take turns, limits, refusals, suspects, probes, and workers that are able to run different things."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tenax.engine.core import Core
from tenax.engine.fleet import Fleet
from tenax.model.wire import LeaseRequest
from tenax.policy.offers import (
    PROBE,
    Candidate,
    Gate,
    Offer,
    admit,
    assign,
    level_order,
    merge_crowds,
    order_slots,
)
from tenax.store import claims
from tenax.store.claims import Asking, Found, Head, Level, QueueLimit, Terms
from tenax.store.connect import Connection
from tenax.store.json_text import encode
from tenax.store.rows import LeasedItem

MOST_AT_ONCE = 500
LOOK_AGAIN = 0.1
"""Seconds for which what was seen of the queues is good enough, while there is more work than slots."""
MOST_CROWDS = 1000
BLOCKED_AT_ONCE = 1000
LOOK_FURTHER = 50
"""Items that are looked for beyond the slots there are, where what comes first may go to others, or to nobody now."""


@dataclass(slots=True)
class Claimed:
    """What one claim came to."""

    items: list[LeasedItem] = field(default_factory=list)
    probed: list[str] = field(default_factory=list)
    blocked: int = 0
    next_token: float | None = None
    """Seconds until a rate allows another start, where it was that which stopped it."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What was seen of some queues."""

    queues: frozenset[str]
    at: float
    heads: tuple[Head, ...]

    @property
    def special(self) -> bool:
        return any(head.special for head in self.heads)

    def order(self, queues: Sequence[str], ageing: float) -> list[Level]:
        waited = {(h.queue, h.priority): h.waited for h in self.heads if h.waited is not None}
        return level_order(waited, queues, ageing)


_NOTHING_SEEN = Outlook(frozenset(), float("-inf"), ())


class Claims:
    """One after the other: what is claimed here is known before the next claim begins."""

    def __init__(self, core: Core, fleet: Fleet) -> None:
        self._core = core
        self._fleet = fleet
        self._outlook = _NOTHING_SEEN
        self._since_crowd = 0
        self._last_lane = 0

    @property
    def _terms(self) -> Terms:
        return Terms(self._core.settings.lease, self._core.settings.timeout_grace)

    def look_anew(self) -> None:
        self._outlook = _NOTHING_SEEN

    async def take(self, tx: Connection, requests: Sequence[LeaseRequest]) -> Claimed:
        """Leases what is ready for these requests. They are of the fleet, or all of one execution's own worker."""
        offers = [o for n, request in enumerate(requests) if (o := self._fleet.offer(n, request)) is not None]
        if not offers:
            return Claimed()
        groups = _groups(requests, offers)
        queues = sorted({queue for asking in groups for queue in asking.queues})
        if groups[0].execution_id is not None:
            return await self._take_in_full(tx, requests, offers, groups, queues)
        looked = self._outlook
        is_known = self._is_fresh(looked, queues)
        if not is_known:
            looked = await self._look(tx, queues)
        if len(groups) > 1 or looked.special or not self._fleet.limited.isdisjoint(queues):
            return await self._take_in_full(tx, requests, offers, groups, queues)
        levels = looked.order(queues, self._core.settings.ageing)
        slots = [(requests[n].worker, requests[n].grant) for n in order_slots(offers, MOST_AT_ONCE)]
        items = await claims.lease_ready(tx, groups[0], levels, slots, self._terms)
        if len(items) < len(slots):
            self.look_anew()  # before these slots are left empty, someone has looked at what there is
        if not items and is_known:
            return await self.take(tx, requests)
        return await self._note_probes(tx, Claimed(items), offers)

    def _is_fresh(self, looked: Outlook, queues: Sequence[str]) -> bool:
        now = asyncio.get_running_loop().time()
        return looked.queues.issuperset(queues) and now - looked.at < LOOK_AGAIN

    async def _look(self, tx: Connection, queues: Sequence[str]) -> Outlook:
        heads = await claims.look_at_queues(tx, queues)
        self._outlook = Outlook(frozenset(queues), asyncio.get_running_loop().time(), tuple(heads))
        return self._outlook

    # -- the full way

    async def _take_in_full(
        self,
        tx: Connection,
        requests: Sequence[LeaseRequest],
        offers: Sequence[Offer],
        groups: Sequence[Asking],
        queues: Sequence[str],
    ) -> Claimed:
        own = groups[0].execution_id is not None
        limited = [] if own else sorted(self._fleet.limited.intersection(queues))
        limits = await claims.lock_queue_limits(tx, limited) if limited else {}
        if own:
            found = await claims.find_own(tx, groups[0])
        else:
            running = await claims.find_suspecting_workers(tx, [offer.worker for offer in offers])
            offers = [replace(offer, suspects=offer.worker in running) for offer in offers]
            found = await self._candidates(tx, groups, queues, limits, running)
        chosen, gates = await self._admitted(tx, found, limits)
        wanted = [_own(item, groups[0]) if own else _candidate(item) for item in chosen]
        pairs = assign(wanted, offers)[:MOST_AT_ONCE]
        slots = [(requests[n].worker, requests[n].grant) for _, n in pairs]
        items = await claims.lease_chosen(tx, [id_ for id_, _ in pairs], slots, self._terms) if pairs else []
        taken = {id_ for id_, _ in pairs}
        self._note_turns(item for item in chosen if item.id in taken)
        claimed = Claimed(items)
        await self._shut(tx, claimed, found, taken, gates)
        await self._spend(tx, claimed, [item for item in found if item.id in taken], limits)
        return await self._note_probes(tx, claimed, offers)

    async def _candidates(
        self,
        tx: Connection,
        groups: Sequence[Asking],
        queues: Sequence[str],
        limits: dict[str, QueueLimit],
        suspecting: set[str],
    ) -> list[Found]:
        """In the order in which they are to be served: level by level, crowds taking their turns among the others."""
        looked = await self._look(tx, queues)
        quotas = {queue: limit.quota for queue, limit in limits.items()}
        common: dict[Level, dict[int, Found]] = defaultdict(dict)
        crowds: dict[Level, dict[int, Found]] = defaultdict(dict)
        ready = {(h.queue, h.priority) for h in looked.heads if h.waited is not None}
        special = {(h.queue, h.priority) for h in looked.heads if h.special}
        order = looked.order(queues, self._core.settings.ageing)
        for asking in groups:
            further = LOOK_FURTHER if len(groups) > 1 else 0
            most = asking.slots + further
            wanted = {
                level: min(most, quotas.get(level[0], most))
                for level in order
                if level[0] in asking.queues and quotas.get(level[0], 1) > 0
            }
            some = {level: n for level, n in wanted.items() if level in ready}
            for item in await claims.find_common(tx, asking, some, most) if some else ():
                common[item.queue, item.priority].setdefault(item.id, item)
            odd = {level: n for level, n in wanted.items() if level in special}
            for item in await self._special(tx, asking, odd, suspecting) if odd else ():
                side = crowds if item.lane else common
                side[item.queue, item.priority].setdefault(item.id, item)
        found: list[Found] = []
        for level in order:
            row = sorted(common[level].values(), key=lambda item: item.age)
            found += merge_crowds(row, _by_turns(crowds[level].values()), self._since_crowd)
        return found

    async def _special(
        self, tx: Connection, asking: Asking, levels: Mapping[Level, int], suspecting: set[str]
    ) -> list[Found]:
        async def find(*, unshared: bool) -> list[Found]:
            most = 2 * asking.slots + MOST_CROWDS
            free = not suspecting.issuperset(asking.workers)
            return await claims.find_special(
                tx,
                asking,
                levels,
                most,
                self._last_lane,
                suspects=free,
                further=LOOK_FURTHER,
                unshared=unshared,
            )

        found = await find(unshared=False)
        return await find(unshared=True) if _is_uneven(found, levels) else found

    async def _admitted(
        self, tx: Connection, found: Sequence[Found], limits: dict[str, QueueLimit]
    ) -> tuple[list[Found], dict[str, int]]:
        """Those within every limit; and how many run under each limit now."""
        names = sorted({gate for item in found for gate, _ in item.gates})
        running = await claims.count_gates(tx, names) if names else {}
        if not names and not limits:
            return list(found), running
        wanted = [(item.id, tuple(Gate(*gate) for gate in item.gates), item.queue) for item in found]
        admitted, _ = admit(wanted, running, {queue: limit.quota for queue, limit in limits.items()})
        inside = set(admitted)
        return [item for item in found if item.id in inside], running

    async def _shut(
        self,
        tx: Connection,
        claimed: Claimed,
        found: Sequence[Found],
        taken: set[int],
        running: dict[str, int],
    ) -> None:
        """Items whose limit is reached now leave the queue until one that runs under it has ended. Where they are under
        another one as well, their places there go to the next."""
        for item in found:
            for gate, _ in item.gates if item.id in taken else ():
                running[gate] += 1
        shut = [
            item
            for item in found
            if item.id not in taken and any(running[gate] >= most for gate, most in item.gates)
        ]
        if not shut:
            return
        await claims.block_items(tx, shut, running, BLOCKED_AT_ONCE)
        claimed.blocked = len(shut)
        if passed := [gate for item in shut for gate, most in item.gates if running[gate] < most]:
            await claims.open_gates(tx, passed)

    async def _spend(
        self, tx: Connection, claimed: Claimed, taken: Sequence[Found], limits: dict[str, QueueLimit]
    ) -> None:
        spent = Counter(item.queue for item in taken)
        left = [
            replace(limit, tokens=limit.tokens - spent[name])
            for name, limit in limits.items()
            if limit.rate is not None
        ]
        if taken and left:
            await claims.spend_tokens(tx, left)
        waits = [wait for limit in left if (wait := limit.next_token) is not None]
        claimed.next_token = min(waits, default=None)

    def _note_turns(self, taken: Iterable[Found]) -> None:
        for item in taken:
            self._since_crowd = 0 if item.lane else self._since_crowd + 1
            self._last_lane = item.lane or self._last_lane

    async def _note_probes(self, tx: Connection, claimed: Claimed, offers: Sequence[Offer]) -> Claimed:
        probing = {offer.worker for offer in offers if offer.rank == PROBE}
        if probing:
            claimed.probed = sorted(probing.intersection(item.worker for item in claimed.items))
        if claimed.probed:
            await claims.take_probes(tx, claimed.probed)
        return claimed


def _groups(requests: Sequence[LeaseRequest], offers: Sequence[Offer]) -> list[Asking]:
    """Requests that are able to run the same things look for it together."""
    groups: dict[tuple[object, ...], list[Offer]] = defaultdict(list)
    for offer in offers:
        able = offer.able
        groups[able.queues, able.runtimes, frozenset(able.labels.items())].append(offer)
    return [
        Asking(
            queues=requests[group[0].request_no].queues,
            runtimes=requests[group[0].request_no].runtimes,
            labels=encode(requests[group[0].request_no].labels),
            workers=tuple({offer.worker for offer in group}),
            slots=min(sum(offer.slots for offer in group), MOST_AT_ONCE),
            execution_id=requests[group[0].request_no].execution_id,
        )
        for group in groups.values()
    ]


def _is_uneven(found: Sequence[Found], levels: Mapping[Level, int]) -> bool:
    """Some crowd of a level did not use up its share: what it left is for the others of that level."""
    crowds: dict[Level, Counter[int]] = defaultdict(Counter)
    for item in found:
        if item.lane:
            crowds[item.queue, item.priority][item.lane] += 1
    return any(len(lanes) > 1 and lanes.total() < levels[level] for level, lanes in crowds.items())


def _by_turns(found: Iterable[Found]) -> list[Found]:
    """Of each crowd one, then of each another one."""
    lanes: dict[int, list[Found]] = {}
    for item in found:
        lanes.setdefault(item.lane, []).append(item)
    for lane in lanes.values():
        lane.sort(key=lambda item: item.age)
    longest = max((len(lane) for lane in lanes.values()), default=0)
    return [lane[n] for n in range(longest) for lane in lanes.values() if n < len(lane)]


def _candidate(item: Found) -> Candidate:
    return Candidate(item.id, item.queue, item.runtime, item.labels, item.refused_by, item.suspect)


def _own(item: Found, asking: Asking) -> Candidate:
    """The worker of one execution is all there is: it takes items of any queue and labels, and suspects side by side."""
    return Candidate(item.id, asking.queues[0], item.runtime, None, item.refused_by)
