"""Who gets which item: standing offers of free slots against the items that wait, in the order of both."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")
Ranked = tuple[float, int, T]
"""Urgency, priority, and what they are of."""

PROBE, HEALTHY, DEGRADED = range(3)
"""The ranks of offers, in the order in which they are served. The unhealthy are not offered anything."""

CROWD_SHARE = 8
"""Of so many slots one goes to crowds, while others wait too."""


@dataclass(frozen=True, slots=True)
class Able:
    """What a worker is able to run."""

    queues: frozenset[str]
    runtimes: frozenset[str]
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Offer:
    """The free slots of one lease request. A probe has one slot."""

    request_no: int
    able: Able
    worker: str
    slots: int
    depth: int
    """What is leased to the worker now: the same in all of its offers."""
    rank: int = HEALTHY
    suspects: bool = False
    """The worker runs a suspect now."""
    whole: bool = False
    """When its turn has come, all of its slots are filled (by `order_slots`), and not one."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A ready item, and who may have it."""

    id: int
    queue: str
    runtime: str
    labels: Mapping[str, str] | None = None
    refused_by: tuple[str, ...] = ()
    suspect: bool = False


@dataclass(frozen=True, slots=True)
class Gate:
    """A limit that items share by its name: so many of them may run at once."""

    name: str
    most: int


def order_slots(offers: Sequence[Offer], limit: int) -> list[int]:
    """The request of each slot, in the order of serving: rank, depth (each slot given adds one), order."""
    if len(offers) == 1:
        return [offers[0].request_no] * min(offers[0].slots, limit)
    slots = _Slots(offers)
    heap = slots.heap(range(len(offers)))
    order: list[int] = []
    while len(order) < limit and (n := slots.best(heap)) is not None:
        order += [offers[n].request_no] * slots.take_turn(n, limit - len(order))
    return order


def assign(candidates: Sequence[Candidate], offers: Sequence[Offer]) -> list[tuple[int, int]]:
    """(item, request) for each candidate that someone able has a slot for, best by rank, depth and order.

    Candidates that ask for the same share a heap of those able. A worker's depth only grows meanwhile, so that an
    entry that is out of date stands too far in front, and is put right when it comes up.
    """
    slots = _Slots(offers)
    heaps: dict[_Ask, list[_Place]] = {}
    pairs: list[tuple[int, int]] = []
    for candidate in candidates:
        ask = _asked(candidate)
        if (heap := heaps.get(ask)) is None:
            heap = heaps[ask] = slots.heap(n for n, offer in enumerate(offers) if _is_able(offer.able, ask))
        n = slots.best(heap, candidate.refused_by, suspect=candidate.suspect)
        if n is not None:
            slots.take(n, suspect=candidate.suspect)
            pairs.append((candidate.id, offers[n].request_no))
    return pairs


def urgency(priority: int, waited: float, ageing: float) -> float:
    """Its priority, and one more for each `ageing` seconds that it has waited. Ageing 0: priorities are strict."""
    return priority + (max(waited, 0.0) / ageing if ageing > 0 else 0.0)


def take_turns(fresh: Sequence[Ranked[T]], again: Sequence[Ranked[T]]) -> list[Ranked[T]]:
    """New items and retries in one row, both in their own order: of the same priority one of each in turn, whoever has waited longer
    first; of another, by urgency. So neither a storm of retries keeps out what is new, nor the other way round."""
    row: list[Ranked[T]] = []
    n = m = 0
    is_turn_of_fresh = bool(fresh and again) and fresh[0][:2] >= again[0][:2]
    while n < len(fresh) and m < len(again):
        new, old = fresh[n], again[m]
        takes_new = is_turn_of_fresh if new[1] == old[1] else new[:2] > old[:2]
        row.append(new if takes_new else old)
        n, m = (n + 1, m) if takes_new else (n, m + 1)
        is_turn_of_fresh = not takes_new
    return [*row, *fresh[n:], *again[m:]]


def serve_order(
    common: Sequence[Ranked[T]], crowds: Sequence[Ranked[T]], since_crowd: int, share: int = CROWD_SHARE
) -> list[T]:
    """Common items and those of crowds in one row, both in their own order.

    Once in `share`, the next of the crowds goes before others that are no more urgent. By its priority alone it goes
    before all that are less urgent. All of a crowd has waited as long: if its age did the same, it would push aside
    whatever has a higher priority. `since_crowd`: how many common ones went since the last one of a crowd.
    """
    row: list[T] = []
    n = m = 0
    while n < len(common) and m < len(crowds):
        theirs, own = crowds[m], common[n]
        has_turn = since_crowd >= share - 1 and theirs[:2] >= own[:2]
        if theirs[1] > own[0] or has_turn:
            row.append(theirs[2])
            m, since_crowd = m + 1, 0
        else:
            row.append(own[2])
            n, since_crowd = n + 1, since_crowd + 1
    return [*row, *(one for _, _, one in common[n:]), *(one for _, _, one in crowds[m:])]


def crowd_turns(slots: int, since_crowd: int, share: int = CROWD_SHARE) -> int:
    """How many of the next slots are for crowds, where both they and others that are no more urgent have enough."""
    return (slots + min(since_crowd, share - 1)) // share


def since_crowd_after(since_crowd: int, common: int, crowd: int, share: int = CROWD_SHARE) -> int:
    """How many common ones went since the last one of a crowd, once so many of both have had their turns."""
    return max(0, min(since_crowd, share - 1) + common - (share - 1) * crowd)


def admit(
    wanted: Sequence[tuple[int, tuple[Gate, ...], str]], running: Mapping[str, int], quotas: Mapping[str, int]
) -> list[int]:
    """Those of (item, gates, queue) that may run now, in order."""
    inside, left = dict(running), dict(quotas)
    admitted: list[int] = []
    for item, gates, queue in wanted:
        is_full = any(inside.get(gate.name, 0) >= gate.most for gate in gates)
        if is_full or left.get(queue, 1) <= 0:
            continue
        admitted.append(item)
        for name in {gate.name for gate in gates}:
            inside[name] = inside.get(name, 0) + 1
        if queue in left:
            left[queue] -= 1
    return admitted


_Place = tuple[int, int, int]
"""Rank, depth, number of the offer: the order in which offers are served."""

_Ask = tuple[str, str, frozenset[tuple[str, str]], bool]
"""Queue, runtime, labels, and whether it is a suspect (who runs one drops out of such a heap for good)."""


def _asked(candidate: Candidate) -> _Ask:
    labels = frozenset((candidate.labels or {}).items())
    return candidate.queue, candidate.runtime, labels, candidate.suspect


def _is_able(able: Able, ask: _Ask) -> bool:
    queue, runtime, labels, _ = ask
    return queue in able.queues and runtime in able.runtimes and labels <= able.labels.items()


class _Slots:
    """The free slots of all offers, as they are given away."""

    def __init__(self, offers: Sequence[Offer]) -> None:
        self._offers = offers
        self._free = [offer.slots for offer in offers]
        self._depth: dict[str, int] = {}
        for offer in offers:
            self._depth[offer.worker] = max(offer.depth, self._depth.get(offer.worker, 0))
        self._suspects = {offer.worker for offer in offers if offer.suspects}

    def heap(self, numbers: Iterable[int]) -> list[_Place]:
        heap = [self._place(n) for n in numbers]
        heapq.heapify(heap)
        return heap

    def best(
        self, heap: list[_Place], refused_by: Sequence[str] = (), *, suspect: bool = False
    ) -> int | None:
        """The first offer in the heap that can take one more. It stays there."""
        refused: list[_Place] = []
        found: int | None = None
        while heap and found is None:
            n = heap[0][2]
            worker = self._offers[n].worker
            if self._free[n] <= 0 or (suspect and worker in self._suspects):
                heapq.heappop(heap)
            elif heap[0] != self._place(n):
                heapq.heapreplace(heap, self._place(n))
            elif worker in refused_by:
                refused.append(heapq.heappop(heap))
            else:
                found = n
        for place in refused:
            heapq.heappush(heap, place)
        return found

    def take_turn(self, n: int, most: int) -> int:
        """One slot, or all that are left of an offer that goes as a whole. Returns how many."""
        count = min(self._free[n], most) if self._offers[n].whole else 1
        self._free[n] -= count
        self._depth[self._offers[n].worker] += count
        return count

    def take(self, n: int, *, suspect: bool = False) -> None:
        worker = self._offers[n].worker
        self._free[n] -= 1
        self._depth[worker] += 1
        if suspect:
            self._suspects.add(worker)

    def _place(self, n: int) -> _Place:
        offer = self._offers[n]
        return offer.rank, self._depth[offer.worker], n
