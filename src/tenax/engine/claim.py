"""Ready items for the requests that wait. There is a short way, one statement, for what any able worker may have; and a
full one, for crowds that take turns, limits, refusals, suspects, priorities, and workers that are able to run different
things."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from tenax.engine.asked import MOST_AT_ONCE, NOTHING_SEEN, Asked, Outlook, asked_by
from tenax.engine.common import Common
from tenax.engine.core import Core
from tenax.engine.crowd import CrowdTurns
from tenax.engine.fleet import Fleet
from tenax.engine.pace import Pace
from tenax.model.wire import LeaseRequest
from tenax.policy.offers import (
    PROBE,
    Candidate,
    Gate,
    Offer,
    Ranked,
    admit,
    assign,
    serve_order,
    take_turns,
    urgency,
)
from tenax.store import claims
from tenax.store.claims import Asking, Found, Level, QueueLimit
from tenax.store.connect import Connection
from tenax.store.rows import LeasedItem

LOOK_AGAIN = 0.1
"""Seconds for which what was seen of the queues is good enough, while there is more work than slots."""
MOST_CROWDS = 64
"""Crowds of one level that one claim looks at; the next goes on from there. Where they have too little, all are."""
ALL_CROWDS = 1_000_000_000
LOOK_FURTHER = 50
"""Items that are looked for beyond the slots there are, where what comes first may go to others, or to nobody now."""
BLOCKED_AT_ONCE = 1000


@dataclass(slots=True)
class Claimed:
    """What one claim came to."""

    items: list[LeasedItem] = field(default_factory=list)
    probed: list[str] = field(default_factory=list)
    blocked: int = 0
    missed: int = 0
    """Chosen items that another server was quicker to take: there may be others."""
    next_token: float | None = None
    """Seconds until a rate allows another start, where it was that which stopped it."""

    @property
    def progress(self) -> int:
        """Not 0: it is worth while to claim again."""
        return len(self.items) + self.blocked + self.missed


class Claims:
    """One after the other: what is claimed here is known before the next claim begins."""

    def __init__(self, core: Core, fleet: Fleet, pace: Pace) -> None:
        self._core = core
        self._fleet = fleet
        self._pace = pace
        self._common = Common(core)
        self._outlook = NOTHING_SEEN
        self._crowds = CrowdTurns(core, self._common)
        self._drained = False
        """All that was ready has been taken, the last time that someone looked."""
        self._pressed = False
        """The last claim found as much as it could take: there is more, most likely."""
        self._habit = NOTHING_SEEN
        """What was seen when there was something last, if that was plain."""

    def look_anew(self) -> None:
        """The next claim looks at all there is."""
        self._outlook = NOTHING_SEEN
        self._drained = False

    def choose(self, want: Candidate, requests: Sequence[LeaseRequest]) -> int | None:
        """Which of these requests may have something new at once: the one that a claim would give it to. None: other work is ready, for
        all that is known, or who gets it is not so plain."""
        if not self._drained or want.queue in self._fleet.limited:
            return None
        offers = self._fleet_offers(requests)
        if any(offer.rank == PROBE for offer in offers):
            return None
        return next((request_no for _, request_no in assign([want], offers)), None)

    def may_be_short(self, requests: Sequence[LeaseRequest]) -> bool:
        """Nothing about who asks speaks against the short way."""
        offers = self._fleet_offers(requests)
        if not offers or requests[0].execution_id is not None or any(offer.rank == PROBE for offer in offers):
            return False
        asked = asked_by(requests, offers)
        return len(asked.groups) == 1 and self._fleet.limited.isdisjoint(asked.queues)

    async def take_short(self, tx: Connection, requests: Sequence[LeaseRequest]) -> Claimed | None:
        """The short way, for requests that may go it. None: what is there needs the full one."""
        asked = asked_by(requests, self._turns(self._fleet_offers(requests)))
        if items := await self._lease_as_ever(tx, asked):
            return Claimed(items)
        looked, from_memory = self._outlook, self._is_fresh(self._outlook, asked.queues)
        if not from_memory:
            looked = await self._look(tx, asked.queues)
        items = await self._common.lease(tx, asked, looked) if looked.plain else []
        if from_memory and len(items) < asked.slots:
            looked = await self._look(tx, asked.queues)
            items += await self._common.lease(tx, asked, looked, done=len(items)) if looked.plain else []
        if not looked.plain:
            items = items or await self._crowds.lease(tx, asked, looked)
            self._pressed = len(items) >= asked.slots
            if not items:
                return None
            self.look_anew()  # what comes meanwhile must not wait until a crowd is done
            return Claimed(items)
        self._note_taken(asked, len(items))
        return Claimed(items)

    async def _lease_as_ever(self, tx: Connection, asked: Asked) -> list[LeasedItem]:
        """While there was less work than slots, the next that comes is most likely like the last: it need not wait for a look.
        The claim after this one takes it, so whatever else is there waits no longer than for this."""
        if not self._drained or not self._habit.queues.issuperset(asked.queues):
            return []
        self._drained = False
        return await self._common.lease(tx, asked, self._habit, in_turn=False)

    async def take(self, tx: Connection, requests: Sequence[LeaseRequest]) -> Claimed:
        """Leases what is ready for these requests. They are of the fleet, or all of one execution's own worker."""
        offers = await self._offers(tx, requests)
        if not offers:
            return Claimed()
        asked = asked_by(requests, offers)
        if requests[0].execution_id is not None:
            return await self._take_in_full(tx, asked, NOTHING_SEEN)
        looked = self._outlook
        from_memory = self._is_fresh(looked, asked.queues)
        if not from_memory:
            looked = await self._look(tx, asked.queues)
        claimed = await self._take(tx, asked, looked)
        if from_memory and not claimed.progress:
            claimed = await self._take(tx, asked, await self._look(tx, asked.queues))
        self._note_taken(asked, len(claimed.items))
        return claimed

    def _note_taken(self, asked: Asked, count: int) -> None:
        self._common.note_taken(count)
        self._pressed = count >= asked.slots
        if count < asked.slots:
            self._outlook = (
                NOTHING_SEEN  # before these slots are left empty, someone has looked at what there is
            )
            self._drained = True

    async def _take(self, tx: Connection, asked: Asked, looked: Outlook) -> Claimed:
        if not looked.levels and not looked.special_levels:
            return Claimed()
        limited = not self._fleet.limited.isdisjoint(asked.queues)
        if len(asked.groups) > 1 or limited or not looked.plain:
            return await self._take_in_full(tx, asked, looked)
        claimed = Claimed(await self._common.lease(tx, asked, looked))
        return await self._note_probes(tx, claimed, asked.offers)

    def _fleet_offers(self, requests: Sequence[LeaseRequest]) -> list[Offer]:
        return [o for n, request in enumerate(requests) if (o := self._fleet.offer(n, request)) is not None]

    def _turns(self, offers: list[Offer]) -> list[Offer]:
        """While there is more work than slots, and more slots than one claim can fill, whoever is done in a moment with what it gets
        has all of its slots filled, and then the next one has."""
        if not self._pressed or sum(offer.slots for offer in offers) <= MOST_AT_ONCE:
            return offers
        return [replace(offer, whole=self._pace.is_brisk(offer.worker)) for offer in offers]

    async def _offers(self, tx: Connection, requests: Sequence[LeaseRequest]) -> list[Offer]:
        """What each request can be given. A probe is for one server, and for one request of its worker."""
        offers = self._fleet_offers(requests)
        probing = {offer.worker: offer for offer in reversed(offers) if offer.rank == PROBE}
        if not probing:
            return offers
        free = await claims.lock_probes(tx, list(probing))
        return [o for o in offers if o.rank != PROBE or (o.worker in free and o is probing[o.worker])]

    def _is_fresh(self, looked: Outlook, queues: Sequence[str]) -> bool:
        now = asyncio.get_running_loop().time()
        return looked.queues.issuperset(queues) and now - looked.at < LOOK_AGAIN

    async def _look(self, tx: Connection, queues: Sequence[str]) -> Outlook:
        heads = await claims.look_at_queues(tx, queues)
        self._outlook = Outlook(frozenset(queues), asyncio.get_running_loop().time(), tuple(heads))
        if self._outlook.levels:
            self._habit = self._outlook if self._outlook.plain else NOTHING_SEEN
        return self._outlook

    # -- the full way

    async def _take_in_full(self, tx: Connection, asked: Asked, looked: Outlook) -> Claimed:
        """Candidates are found and put in order without a lock; only what is chosen is locked, and leased."""
        offers, own = asked.offers, asked.groups[0].execution_id is not None
        limited = sorted(self._fleet.limited if own else self._fleet.limited.intersection(asked.queues))
        limits = await claims.lock_queue_limits(tx, limited) if limited else {}
        if own:
            found = await claims.find_own(tx, asked.groups[0])
        else:
            found = await self._candidates(tx, asked, looked, limits, frozenset())
            if any(item.suspect for item in found):
                running = await claims.find_suspecting_workers(tx, [offer.worker for offer in offers])
                offers = [replace(offer, suspects=offer.worker in running) for offer in offers]
                found = await self._candidates(tx, asked, looked, limits, running)
        chosen, gates = await self._admitted(tx, found, limits)
        wanted = [_own(item, asked.groups[0]) if own else _candidate(item) for item in chosen]
        pairs = assign(wanted, offers)[:MOST_AT_ONCE]
        slots = [asked.slot(n) for _, n in pairs]
        items = (
            await claims.lease_chosen(tx, [id_ for id_, _ in pairs], slots, self._core.terms) if pairs else []
        )
        taken = {item.id for item in items}
        self._crowds.note_taken(item for item in chosen if item.id in taken)
        claimed = Claimed(items, missed=len(pairs) - len(items))
        await self._shut(tx, claimed, found, taken, gates)
        await self._spend(tx, claimed, [item for item in found if item.id in taken], limits)
        return await self._note_probes(tx, claimed, offers)

    async def _candidates(
        self,
        tx: Connection,
        asked: Asked,
        looked: Outlook,
        limits: dict[str, QueueLimit],
        suspecting: AbstractSet[str],
    ) -> list[Found]:
        """In the order in which they are to be served. Workers that run a suspect (`suspecting`) are given no other."""
        quotas = {queue: limit.quota for queue, limit in limits.items()}
        common: dict[int, Found] = {}
        crowds: dict[int, Found] = {}
        # Where there are special items, common ones may have come since it was looked at: crowds must not keep them out.
        known = sorted({*looked.levels, *looked.special_levels})
        for asking in asked.groups:
            most = asking.slots + (LOOK_FURTHER if len(asked.groups) > 1 else 0)
            open_ = [q for q in asking.queues if quotas.get(q, 1) > 0]
            some = {level: min(most, quotas.get(level[0], most)) for level in known if level[0] in open_}
            for item in await claims.find_common(tx, asking, some, 2 * most * len(some)) if some else ():
                common.setdefault(item.id, item)
            odd = {
                level: min(most, quotas.get(level[0], most))
                for level in sorted(looked.special_levels)
                if level[0] in open_
            }
            for item in await self._special(tx, asking, odd, suspecting) if odd else ():
                (crowds if item.lane else common).setdefault(item.id, item)
        fresh = self._by_urgency(item for item in common.values() if not item.again)
        again = self._by_urgency(item for item in common.values() if item.again)
        return serve_order(
            take_turns(fresh, again),
            [self._ranked(item) for item in _by_turns(crowds.values())],
            self._crowds.since_crowd,
        )

    def _by_urgency(self, items: Iterable[Found]) -> list[Ranked[Found]]:
        return sorted(map(self._ranked, items), key=lambda one: (-one[0], -one[1], *_age(one[2])))

    def _ranked(self, item: Found) -> Ranked[Found]:
        return urgency(item.priority, item.waited, self._core.settings.ageing), item.priority, item

    async def _special(
        self, tx: Connection, asking: Asking, levels: Mapping[Level, int], suspecting: AbstractSet[str]
    ) -> list[Found]:
        async def find(*, crowds: int, unshared: bool = False) -> list[Found]:
            return await claims.find_special(
                tx,
                asking,
                levels,
                len(levels) * (2 * asking.slots + LOOK_FURTHER + 2 * MOST_CROWDS),
                self._crowds.last_lane,
                suspects=not suspecting >= set(asking.workers),
                further=LOOK_FURTHER,
                unshared=unshared,
                crowds=crowds,
            )

        found = await find(crowds=min(asking.slots, MOST_CROWDS))
        if len(found) < asking.slots or _is_uneven(found, levels):
            return await find(crowds=ALL_CROWDS, unshared=True)
        return found

    async def _admitted(
        self, tx: Connection, found: Sequence[Found], limits: dict[str, QueueLimit]
    ) -> tuple[list[Found], dict[str, int]]:
        """Those within every limit; and how many run under each limit now."""
        names = sorted({gate for item in found for gate, _ in item.gates})
        running = await claims.count_gates(tx, names) if names else {}
        if not names and not limits:
            return list(found), running
        wanted = [(item.id, tuple(Gate(*gate) for gate in item.gates), item.queue) for item in found]
        admitted = admit(wanted, running, {queue: limit.quota for queue, limit in limits.items()})
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

    async def _note_probes(self, tx: Connection, claimed: Claimed, offers: Sequence[Offer]) -> Claimed:
        probing = {offer.worker for offer in offers if offer.rank == PROBE}
        if probing:
            claimed.probed = sorted(probing.intersection(item.worker for item in claimed.items))
        if claimed.probed:
            await claims.take_probes(tx, claimed.probed)
        return claimed


def _is_uneven(found: Sequence[Found], levels: Mapping[Level, int]) -> bool:
    """Some crowd of a level did not use up its share: what it left is for the others of that level."""
    crowds: dict[Level, Counter[int]] = defaultdict(Counter)
    for item in found:
        if item.lane:
            crowds[item.queue, item.priority][item.lane] += 1
    return any(len(lanes) > 1 and lanes.total() < levels[level] for level, lanes in crowds.items())


def _by_turns(found: Iterable[Found]) -> list[Found]:
    """By priority; of each crowd one, then of each another one."""
    lanes: dict[tuple[int, int], list[Found]] = {}
    for item in found:
        lanes.setdefault((item.priority, item.lane), []).append(item)
    row: list[Found] = []
    for priority in sorted({priority for priority, _ in lanes}, reverse=True):
        level = [sorted(lane, key=_age) for (of, _), lane in lanes.items() if of == priority]
        longest = max(len(lane) for lane in level)
        row += [lane[n] for n in range(longest) for lane in level if n < len(lane)]
    return row


def _age(item: Found) -> tuple[float, int]:
    return -item.waited, item.id


def _candidate(item: Found) -> Candidate:
    return Candidate(item.id, item.queue, item.runtime, item.labels, item.refused_by, item.suspect)


def _own(item: Found, asking: Asking) -> Candidate:
    """The worker of one execution is all there is: it takes items of any queue and labels, and suspects side by side."""
    return Candidate(item.id, asking.queues[0], item.runtime, None, item.refused_by)
