"""Assigns ready items to the free slots of lease requests, both in their order and within the limits."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

PROBE, HEALTHY, DEGRADED = range(3)
"""The ranks of offers, in serving order. An unhealthy worker makes no offers."""


@dataclass(frozen=True, slots=True)
class Abilities:
    """Says which work a worker is able to run."""

    queues: frozenset[str]
    runtimes: frozenset[str]
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Offer:
    """Offers the free slots of one lease request. The offer of a probe has one slot."""

    request_no: int
    able: Abilities
    worker: str
    slots: int
    depth: int
    """The number of items that are leased to the worker now. It is the same in all offers of the worker."""
    rank: int = HEALTHY
    suspects: bool = False
    """True if the worker runs a suspect now."""
    whole: bool = False
    """True if the worker's turn fills all of its slots, and not only one (`order_slots`)."""


@dataclass(frozen=True, slots=True)
class ItemLimit:
    """Limits the number of items of one name that run at once to `most`."""

    name: str
    most: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """Holds a ready item, with everything that decides which worker may run it and when."""

    id: int
    queue: str
    runtime: str
    labels: Mapping[str, str] | None = None
    refused_by: tuple[str, ...] = ()
    suspect: bool = False
    priority: int = 5
    waited: float = 0.0
    """Seconds since it became ready."""
    is_retry: bool = False
    lane: int = 0
    """The lane of its fan-out, or 0 if it belongs to none."""
    limits: tuple[ItemLimit, ...] = ()


def order_slots(offers: Sequence[Offer], limit: int) -> list[int]:
    """Returns the request of each slot in serving order: by rank, depth (each slot given adds one) and number."""
    if len(offers) == 1:
        return [offers[0].request_no] * min(offers[0].slots, limit)
    slots = _Slots(offers)
    heap = slots.heap(range(len(offers)))
    order: list[int] = []
    while len(order) < limit and (n := slots.best(heap)) is not None:
        order += [offers[n].request_no] * slots.take_turn(n, limit - len(order))
    return order


def assign(candidates: Sequence[Candidate], offers: Sequence[Offer]) -> list[tuple[int, int]]:
    """Assigns candidates to slots. Returns (item, request) for each candidate for which an able worker has a slot.

    The best offer by rank, depth and number gets the candidate. Candidates with the same requirements share a heap of able offers. The
    depth of a worker only grows meanwhile, so an outdated entry is too far in front. It is corrected when it is reached.
    """
    slots = _Slots(offers)
    heaps: dict[_Ask, list[_ServingOrder]] = {}
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


def admit(
    candidates: Sequence[Candidate], running: Mapping[str, int], quotas: Mapping[str, int]
) -> list[Candidate]:
    """Returns the candidates that may run now, in order.

    `running` is the number of items that run under each limit. `quotas` is the number of items that each limited queue may start.
    """
    running, quotas = dict(running), dict(quotas)
    admitted: list[Candidate] = []
    for item in candidates:
        if is_at_a_limit(item, running) or quotas.get(item.queue, 1) <= 0:
            continue
        admitted.append(item)
        for name in {limit.name for limit in item.limits}:
            running[name] = running.get(name, 0) + 1
        if item.queue in quotas:
            quotas[item.queue] -= 1
    return admitted


def is_at_a_limit(item: Candidate, running: Mapping[str, int]) -> bool:
    return any(running.get(limit.name, 0) >= limit.most for limit in item.limits)


_ServingOrder = tuple[int, int, int]
"""Rank, depth and number of an offer: the order in which offers are served."""

_Ask = tuple[str, str, frozenset[tuple[str, str]], bool]
"""The requirements of a group of items: queue, runtime, labels, and whether they are suspects.

A worker that gets a suspect leaves the heap for suspects.
"""


def _asked(candidate: Candidate) -> _Ask:
    labels = frozenset((candidate.labels or {}).items())
    return candidate.queue, candidate.runtime, labels, candidate.suspect


def _is_able(able: Abilities, ask: _Ask) -> bool:
    queue, runtime, labels, _ = ask
    return queue in able.queues and runtime in able.runtimes and labels <= able.labels.items()


class _Slots:
    """Holds the free slots of all offers while they are assigned."""

    def __init__(self, offers: Sequence[Offer]) -> None:
        self._offers = offers
        self._free = [offer.slots for offer in offers]
        self._depth: dict[str, int] = {}
        for offer in offers:
            self._depth[offer.worker] = max(offer.depth, self._depth.get(offer.worker, 0))
        self._suspects = {offer.worker for offer in offers if offer.suspects}

    def heap(self, numbers: Iterable[int]) -> list[_ServingOrder]:
        heap = [self._serving_order(n) for n in numbers]
        heapq.heapify(heap)
        return heap

    def best(
        self, heap: list[_ServingOrder], refused_by: Sequence[str] = (), *, suspect: bool = False
    ) -> int | None:
        """Returns the first offer in the heap that can take another item. It stays in the heap."""
        refused: list[_ServingOrder] = []
        found: int | None = None
        while heap and found is None:
            n = heap[0][2]
            worker = self._offers[n].worker
            if self._free[n] <= 0 or (suspect and worker in self._suspects):
                heapq.heappop(heap)
            elif heap[0] != self._serving_order(n):
                heapq.heapreplace(heap, self._serving_order(n))
            elif worker in refused_by:
                refused.append(heapq.heappop(heap))
            else:
                found = n
        for order in refused:
            heapq.heappush(heap, order)
        return found

    def take_turn(self, n: int, most: int) -> int:
        """Takes one slot, or all free slots of an offer that is filled as a whole. Returns their number."""
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

    def _serving_order(self, n: int) -> _ServingOrder:
        offer = self._offers[n]
        return offer.rank, self._depth[offer.worker], n
