"""Reads large inputs of leased items beside the claims, a few at a time. The bytes of large inputs in one answer are limited."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from tenax.engine.context import EngineContext
from tenax.engine.lease.render_inputs import InputRenderer
from tenax.engine.slices import TimeSlice
from tenax.model.json_text import encode
from tenax.model.wire import Assignment, LeaseRequest, Release, Report
from tenax.policy.dispatch.claim_plan import MAX_CLAIM_SIZE
from tenax.store.rows import LeasedItem

MAX_ANSWER = 32_000_000
"""Bytes of rendered inputs in one answer. Beyond that no further item is added to it."""
SMALL = 1_000_000
"""Bytes of a few items, below which more items are read together."""
READ_TOGETHER = 4
"""Items whose inputs are read together, at most."""
MOST_WORKERS = 10_000
AT_ONCE = 2
"""Answers that are prepared at the same time. Each needs a session and memory."""


@dataclass(slots=True)
class RenderedAnswer:
    assignments: list[Assignment] = field(default_factory=list)
    broken: list[Report] = field(default_factory=list)
    """Reports of items whose inputs cannot be rendered."""
    left: Sequence[LeasedItem] = ()
    """Items that did not fit into the answer."""


class LargeInputs:
    def __init__(self, context: EngineContext) -> None:
        self._context = context
        self._at_once = asyncio.Semaphore(AT_ONCE)
        self._fitted: dict[str, int] = {}
        """The number of items that fit into one answer, for workers whose answers were too small lately."""

    def bounded(self, requests: Sequence[LeaseRequest]) -> Sequence[LeaseRequest]:
        """Returns the requests with as many slots as are worth filling: an item that does not fit into the
        answer would be leased for nothing."""
        if not self._fitted:
            return requests
        most = [min(one.slots, self._fitted.get(one.worker, one.slots)) for one in requests]
        return [replace(one, slots=slots) for one, slots in zip(requests, most, strict=True)]

    async def render(self, items: Sequence[LeasedItem], wanted: Callable[[], bool]) -> RenderedAnswer | None:
        """Renders the items of one request: as many as fit into its answer, and at least one. Returns None if nobody
        wants the answer when its turn comes."""
        async with self._at_once:
            if not wanted():
                return None
            rendered, size, together, time_slice = RenderedAnswer(), 0, 1, TimeSlice()
            rest = list(items)
            while rest and size < MAX_ANSWER:
                some, rest, before = rest[:together], rest[together:], size
                async with self._context.transaction() as tx:
                    assigning = await InputRenderer.prepare(tx, self._context, some)
                for item in some:
                    if time_slice.is_over:
                        await time_slice.give_way()
                    made = assigning.make(item)
                    if isinstance(made, Assignment):
                        size += len(encode(made.spec))
                        rendered.assignments.append(made)
                    else:
                        rendered.broken.append(made)
                together = min(2 * together, READ_TOGETHER) if size - before < SMALL else 1
            rendered.left = rest
        self._note(items[0].worker, len(items), len(rest))
        return rendered

    def _note(self, worker: str, asked: int, left: int) -> None:
        if not left:
            self.note_fitted(worker)
            return
        if len(self._fitted) >= MOST_WORKERS:  # most of these workers are gone
            self._fitted.clear()
        self._fitted[worker] = asked - left

    def note_fitted(self, worker: str) -> None:
        """Notes that all items fit into an answer: the next one may have twice as many."""
        if worker in self._fitted:
            self._fitted[worker] *= 2
            if self._fitted[worker] >= MAX_CLAIM_SIZE:
                del self._fitted[worker]


def without_room(item: LeasedItem) -> Release:
    """Returns the release of an item that does not fit into the answer."""
    detail = "the inputs of the items before it fill the answer"
    return Release(item.execution_id, item.id, item.attempt, item.lease_token, "draining", detail)
