"""Lease requests that wait for work."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tenax.model.wire import Assignment, LeaseRequest
from tenax.store.rows import LeasedItem


@dataclass(eq=False, slots=True)
class WaitingRequest:
    request: LeaseRequest
    granted: asyncio.Future[list[Assignment]]
    leaving: bool = False
    """The request's time is over while a claim is under way. It still gets the items that this claim leases to
    it."""
    served: bool = False
    """Items are leased to it, and their inputs are being rendered."""

    @property
    def is_of_fleet(self) -> bool:
        """Whether its worker takes items of any execution."""
        return self.request.execution_id is None


def by_execution(waiting: Iterable[WaitingRequest]) -> list[list[WaitingRequest]]:
    """Returns the requests of workers that serve one execution, grouped by execution."""
    parties: dict[int, list[WaitingRequest]] = defaultdict(list)
    for one in waiting:
        if one.request.execution_id is not None:
            parties[one.request.execution_id].append(one)
    return list(parties.values())


def share_out(
    served: Sequence[WaitingRequest], items: Sequence[LeasedItem]
) -> list[tuple[WaitingRequest, list[LeasedItem]]]:
    """Returns each request with the items leased to it."""
    by_grant: dict[str, list[LeasedItem]] = defaultdict(list)
    for item in items:
        by_grant[item.grant].append(item)
    return [(waiting, by_grant.get(waiting.request.grant, [])) for waiting in served]
