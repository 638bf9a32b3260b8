"""What a claim goes by: who asks for what, and what was seen of the queues."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from tenax.model.json_text import encode
from tenax.model.wire import LeaseRequest
from tenax.policy.offers import Offer, order_slots
from tenax.store.claims import Asking, Head, Level, Share

MOST_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Outlook:
    """What was seen of some queues."""

    queues: frozenset[str]
    at: float
    heads: tuple[Head, ...]

    @property
    def plain(self) -> bool:
        """Nothing but common items, of one priority: they go by the time they have waited."""
        ready = {head.priority for head in self.heads if head.waited is not None}
        return len(ready) <= 1 and not any(head.special for head in self.heads)

    @property
    def levels(self) -> list[Level]:
        """Those that have something common ready, who waits longest first."""
        return [(head.queue, head.priority) for head in self._ready]

    @property
    def _ready(self) -> list[Head]:
        ready = [(head.waited, head) for head in self.heads if head.waited is not None]
        return [head for _, head in sorted(ready, key=lambda one: -one[0])]

    def shares(self, slots: int, most: int) -> list[Share]:
        """What is new and what is retried take turns: whichever would have to wait for all of the other goes first, for `most` of
        the slots."""
        shares: list[Share] = []
        for head in self._ready:
            is_newer = _waited(head.fresh) < _waited(head.again)
            first, then = ("queued", "retrying") if is_newer else ("retrying", "queued")
            shares += [(head.queue, head.priority, first, most), (head.queue, head.priority, then, slots)]
        return shares

    @property
    def is_shared(self) -> bool:
        """Somewhere both new work and retries wait."""
        return any(head.fresh is not None and head.again is not None for head in self.heads)

    @property
    def only_crowd(self) -> tuple[Level, int] | None:
        """A crowd, with the level it is at, beside which there is nothing, or nothing but common items of its priority that have
        waited no longer: they take turns then, whatever their age."""
        special = [head for head in self.heads if head.special]
        if len(special) != 1 or special[0].lowest_lane != special[0].highest_lane:
            return None
        head, ready = special[0], self._ready
        if ready and (
            {one.priority for one in ready} != {head.priority}
            or _waited(ready[0].waited) > _waited(head.lowest_waited)
        ):
            return None
        return ((head.queue, head.priority), head.lowest_lane) if head.lowest_lane else None

    @property
    def special_levels(self) -> set[Level]:
        return {(head.queue, head.priority) for head in self.heads if head.special}


NOTHING_SEEN = Outlook(frozenset(), float("-inf"), ())


@dataclass(frozen=True, slots=True)
class Asked:
    """What one claim is for."""

    requests: Sequence[LeaseRequest]
    offers: Sequence[Offer]
    groups: Sequence[Asking]
    queues: Sequence[str]

    def slot(self, request_no: int) -> tuple[str, str]:
        request = self.requests[request_no]
        return request.worker, request.grant

    def in_order(self, most: int) -> list[tuple[str, str]]:
        """The slots in the order in which they are served: each a worker and its grant."""
        return [self.slot(n) for n in order_slots(self.offers, most)]

    @property
    def slots(self) -> int:
        return min(sum(offer.slots for offer in self.offers), MOST_AT_ONCE)


def _waited(seconds: float | None) -> float:
    """What is not there has waited least."""
    return -1.0 if seconds is None else seconds


def asked_by(requests: Sequence[LeaseRequest], offers: Sequence[Offer]) -> Asked:
    groups = _groups(requests, offers)
    return Asked(requests, offers, groups, sorted({queue for asking in groups for queue in asking.queues}))


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
