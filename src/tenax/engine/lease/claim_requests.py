"""Holds the lease requests that one claim serves, with the slots that they offer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from tenax.model.json_text import encode
from tenax.model.wire import LeaseRequest
from tenax.policy.dispatch.assignment import Offer, order_slots
from tenax.policy.dispatch.claim_plan import MAX_CLAIM_SIZE
from tenax.store.dispatch.claims import WorkerGroup


@dataclass(frozen=True, slots=True)
class ClaimRequests:
    requests: Sequence[LeaseRequest]
    offers: Sequence[Offer]
    groups: Sequence[WorkerGroup]
    queues: frozenset[str]

    @classmethod
    def of(cls, requests: Sequence[LeaseRequest], offers: Sequence[Offer]) -> ClaimRequests:
        groups = _groups(requests, offers)
        return cls(requests, offers, groups, frozenset(queue for group in groups for queue in group.queues))

    @property
    def slots(self) -> int:
        """Returns the number of slots that one claim can fill."""
        return min(sum(offer.slots for offer in self.offers), MAX_CLAIM_SIZE)

    def slot(self, request_no: int) -> tuple[str, str]:
        """Returns the worker and the grant for an item of this request."""
        request = self.requests[request_no]
        return request.worker, request.grant

    def slots_in_order(self, first: int, count: int) -> list[tuple[str, str]]:
        """Returns the next `count` slots in serving order, after the first `first` ones."""
        return [self.slot(n) for n in order_slots(self.offers, first + count)[first:]]


def _groups(requests: Sequence[LeaseRequest], offers: Sequence[Offer]) -> list[WorkerGroup]:
    """Groups the requests of workers that are able to run the same items."""
    groups: dict[tuple[object, ...], list[Offer]] = defaultdict(list)
    for offer in offers:
        able = offer.able
        groups[able.queues, able.runtimes, frozenset(able.labels.items())].append(offer)
    return [_group(requests[group[0].request_no], group) for group in groups.values()]


def _group(first: LeaseRequest, offers: Sequence[Offer]) -> WorkerGroup:
    return WorkerGroup(
        queues=first.queues,
        runtimes=first.runtimes,
        labels=encode(first.labels),
        workers=tuple({offer.worker for offer in offers}),
        slots=min(sum(offer.slots for offer in offers), MAX_CLAIM_SIZE),
        execution_id=first.execution_id,
    )
