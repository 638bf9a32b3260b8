"""Leases ready items to the waiting lease requests.

The short claim leases items by one statement, as `policy/dispatch/claim_plan.py` plans it. It serves workers that are all able to run the
same items, while their queues have no limit. The full claim (`full_claim.py`) serves all other cases.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Sequence
from dataclasses import replace
from time import perf_counter

from tenax.engine.context import EngineContext
from tenax.engine.fleet.fleet_view import Fleet
from tenax.engine.lease.claim_requests import ClaimRequests
from tenax.engine.lease.full_claim import Claimed, FullClaim
from tenax.engine.lease.worker_speed import WorkerSpeed
from tenax.model.wire import LeaseRequest
from tenax.policy.dispatch import claim_plan
from tenax.policy.dispatch.assignment import PROBE, Candidate, Offer, assign
from tenax.policy.dispatch.claim_plan import (
    Claim,
    ClaimState,
    Pick,
    Query,
    QueueKnowledge,
    QueueSnapshot,
    SnapshotSource,
)
from tenax.store.connect import Connection
from tenax.store.dispatch import claims
from tenax.store.rows import LeasedItem


class Claims:
    """Makes one claim after the other, each with the state that the last one left."""

    def __init__(self, fleet: Fleet, worker_speed: WorkerSpeed, context: EngineContext) -> None:
        self._terms = context.terms
        self._fleet = fleet
        self._worker_speed = worker_speed
        self._measure = context.measures.batches["claims"]
        self._full = FullClaim(fleet, context.terms, ageing=context.settings.ageing)
        self._state = ClaimState()

    # -- called by the dispatcher

    def look_anew(self) -> None:
        """Makes the next claim read the queues first."""
        self._state = replace(self._state, known=QueueKnowledge.NOTHING)

    def note_news(self) -> None:
        """Notes that something has happened: requests that got nothing are worth another try."""
        if self._state.in_vain:
            self._state = replace(self._state, in_vain=frozenset())

    def note_in_vain(self, requests: Sequence[LeaseRequest]) -> None:
        """Notes that the last round found nothing for these requests."""
        self._state = replace(self._state, in_vain=frozenset(_wish(request) for request in requests))

    def is_in_vain(self, request: LeaseRequest) -> bool:
        """Returns whether the last round found nothing for an equal request, and nothing has happened since."""
        return _wish(request) in self._state.in_vain

    def choose(self, want: Candidate, requests: Sequence[LeaseRequest]) -> int | None:
        """Chooses the request to which a claim would give a new item. Returns None if other work may be ready, or if only a claim can tell."""
        if self._state.known is not QueueKnowledge.DRAINED or want.queue in self._fleet.limited:
            return None
        offers = self._fleet_offers(requests)
        if any(offer.rank == PROBE for offer in offers):
            return None
        return next((request_no for _, request_no in assign([want], offers)), None)

    def for_short_claim(self, requests: Sequence[LeaseRequest]) -> ClaimRequests | None:
        """Returns the requests if a short claim can serve these workers, else None."""
        offers = self._fleet_offers(requests)
        if not offers or requests[0].execution_id is not None or any(offer.rank == PROBE for offer in offers):
            return None
        asked = ClaimRequests.of(requests, self._whole_requests(offers))
        return asked if len(asked.groups) == 1 and self._fleet.limited.isdisjoint(asked.queues) else None

    # -- claims

    async def take_short(self, tx: Connection, asked: ClaimRequests) -> Claimed | None:
        """Makes a short claim. Returns None, and leases nothing, if the ready items need a full claim."""
        claim = claim_plan.begin_claim(self._state, asked.queues, asked.slots, _now())
        items: list[LeasedItem] = []
        began = perf_counter()
        while True:
            match claim_plan.next_query(self._state, claim):
                case Pick() as pick:
                    slots = asked.slots_in_order(claim.taken, pick.slots)
                    leased = await claims.lease_ready(tx, asked.groups[0], pick.shares, slots, self._terms)
                    items += leased
                    lanes = [item.lane for item in leased]
                    self._state, claim = claim_plan.after_pick(self._state, claim, pick, lanes)
                case Query.LOOK:
                    claim = await self._look(tx, claim)
                case Query.FULL_CLAIM:
                    return None
                case Query.END:
                    self._state = claim_plan.after_claim(self._state, claim)
                    self._note_claim(len(items), began)
                    return Claimed(items)

    async def take_in_full(self, tx: Connection, requests: Sequence[LeaseRequest]) -> Claimed:
        """Makes a full claim for requests of the fleet, or for requests of the worker of one execution."""
        began = perf_counter()
        asked = ClaimRequests.of(requests, await self._offers(tx, requests))
        if not asked.offers:
            return Claimed()
        claimed = await self._take_for(tx, requests, asked)
        self._note_claim(len(claimed.items), began)
        return claimed

    def _note_claim(self, items: int, began: float) -> None:
        """Measures a claim that leased something."""
        if items:
            self._measure.add(items, perf_counter() - began)

    async def _take_for(
        self, tx: Connection, requests: Sequence[LeaseRequest], asked: ClaimRequests
    ) -> Claimed:
        if requests[0].execution_id is not None:
            return self._count_turns(await self._full.take_own(tx, asked))
        fresh = self._state.fresh_snapshot(asked.queues, _now())
        claim = Claim(asked.queues, asked.slots, SnapshotSource.MEMORY, fresh or QueueSnapshot())
        claimed = Claimed()
        if fresh is not None:
            claimed = await self._take_by(tx, asked, fresh)
        if not claimed.progress:
            claim = await self._look(tx, claim)
            claimed = await self._take_by(tx, asked, claim.snapshot)
        self._state = claim_plan.after_claim(self._state, replace(claim, taken=len(claimed.items)))
        return claimed

    async def _take_by(self, tx: Connection, asked: ClaimRequests, snapshot: QueueSnapshot) -> Claimed:
        return self._count_turns(await self._full.take(tx, asked, snapshot, self._state.turns))

    def _count_turns(self, claimed: Claimed) -> Claimed:
        self._state = replace(self._state, turns=self._state.turns.after(claimed.lanes))
        return claimed

    async def _look(self, tx: Connection, claim: Claim) -> Claim:
        levels = await claims.read_queues(tx, sorted(claim.queues))
        snapshot = QueueSnapshot(claim.queues, _now(), levels)
        self._state, claim = claim_plan.after_look(self._state, claim, snapshot)
        return claim

    # -- offers

    def _fleet_offers(self, requests: Sequence[LeaseRequest]) -> list[Offer]:
        return [o for n, request in enumerate(requests) if (o := self._fleet.offer(n, request)) is not None]

    def _whole_requests(self, offers: list[Offer]) -> list[Offer]:
        """Marks the requests of fast workers, which are filled whole at their turn and not only with a share of each claim.

        This applies while there is more work than slots, and more slots than one claim can fill.
        """
        if not self._state.filled or sum(offer.slots for offer in offers) <= claim_plan.MAX_CLAIM_SIZE:
            return offers
        return [replace(offer, whole=self._worker_speed.is_fast(offer.worker)) for offer in offers]

    async def _offers(self, tx: Connection, requests: Sequence[LeaseRequest]) -> list[Offer]:
        """Returns the offer of each request. Only one server probes a worker, by one request."""
        offers = self._fleet_offers(requests)
        probing = {offer.worker: offer for offer in reversed(offers) if offer.rank == PROBE}
        if not probing:
            return offers
        free = await claims.lock_probes(tx, list(probing))
        return [o for o in offers if o.rank != PROBE or (o.worker in free and o is probing[o.worker])]


def _now() -> float:
    return asyncio.get_running_loop().time()


def _wish(request: LeaseRequest) -> Hashable:
    """Returns a key that is equal for equal requests of the same worker."""
    labels = tuple(sorted(request.labels.items()))
    return request.worker, request.life, request.execution_id, request.queues, request.runtimes, labels
