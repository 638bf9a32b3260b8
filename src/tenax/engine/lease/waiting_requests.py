"""Holds the lease requests that wait for work."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tenax.model.wire import Assignment, LeaseRequest
from tenax.store.rows import LeasedItem


@dataclass(eq=False, slots=True)
class WaitingRequest:
    request: LeaseRequest
    granted: asyncio.Future[list[Assignment]]
    leaving: bool = False
    """True if the request's time ended during a claim. It still gets the items that this claim leases to it."""
    served: bool = False
    """True if items are leased to it and their inputs are being rendered."""

    @property
    def is_of_fleet(self) -> bool:
        """Returns whether its worker takes items of any execution."""
        return self.request.execution_id is None


class Reserved:
    """Is a waiting request that is reserved for a new item."""

    __slots__ = ("_give_up", "_hand_over", "_waiting", "request")

    def __init__(
        self,
        waiting: WaitingRequest,
        hand_over: Callable[[WaitingRequest, LeasedItem], Coroutine[Any, Any, None]],
        give_up: Callable[[list[WaitingRequest]], None],
    ) -> None:
        self.request = waiting.request
        self._waiting = waiting
        self._hand_over = hand_over
        self._give_up = give_up

    def hand_over(self, item: LeasedItem) -> Coroutine[Any, Any, None]:
        """Answers the request with the item that was leased to it."""
        return self._hand_over(self._waiting, item)

    def give_up(self) -> None:
        """Ends the request without an item. Its worker asks again."""
        self._give_up([self._waiting])


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
