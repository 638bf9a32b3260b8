"""Who gets the next items: the free slots of the requests that wait, in the order in which they are served."""

from __future__ import annotations

from collections.abc import Sequence

from tenax.model.wire import LeaseRequest

Able = tuple[tuple[str, ...], tuple[str, ...], tuple[tuple[str, str], ...], int | None]


def able(request: LeaseRequest) -> Able:
    """What a request can be given. Requests that are able to run the same things are served by one claim."""
    return (tuple(sorted(request.queues)), tuple(sorted(request.runtimes)), tuple(sorted(request.labels.items())),
            request.execution_id)  # fmt: skip


def order_slots(requests: Sequence[LeaseRequest], limit: int) -> list[LeaseRequest]:
    """One entry for each slot: every request its first slot, then every request its second, so that load spreads."""
    rounds = max((request.slots for request in requests), default=0)
    slots: list[LeaseRequest] = []
    for n in range(rounds):
        for request in requests:
            if n < request.slots:
                slots.append(request)
                if len(slots) == limit:
                    return slots
    return slots
