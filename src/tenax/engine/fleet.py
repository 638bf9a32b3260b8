"""What this server knows of the workers: who stands how, what is leased to whom, what their attempts came to.

Kept in memory, and brought up to date with the database every second: choosing a worker costs no query, and telling
the health of one costs no attempt anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tenax.engine.core import Core
from tenax.model.wire import LeaseRequest
from tenax.policy.offers import DEGRADED, HEALTHY, PROBE, Able, Offer
from tenax.store import workers
from tenax.store.journal import Journal
from tenax.store.rows import LeasedItem, Run
from tenax.store.workers import Standing, Tally

_RANKS: Final = {"healthy": HEALTHY, "degraded": DEGRADED}
_PROBE_SLOTS = 1


class Fleet:
    def __init__(self, core: Core) -> None:
        self._core = core
        self._known: dict[str, Standing] = {}
        self._tallies: dict[str, Tally] = {}
        self._lost: list[Run] = []
        self._pardons: list[int] = []
        self.limited: frozenset[str] = frozenset()
        """Queues that have a limit."""
        core.hub.on_settled = self.note_settled

    def offer(self, number: int, request: LeaseRequest) -> Offer | None:
        """What a request can be given now; None: nothing. Who is not known here yet is as good as any."""
        able = Able(frozenset(request.queues), frozenset(request.runtimes), request.labels)
        known = self._known.get(request.worker)
        if known is None or request.execution_id is not None:
            return Offer(number, able, request.worker, request.slots, 0)
        if known.state != "active" or _is_over(known, request):
            return None
        if known.health == "unhealthy":
            if not known.probe:
                return None
            return Offer(number, able, request.worker, min(request.slots, _PROBE_SLOTS), known.depth, PROBE)
        return Offer(number, able, request.worker, request.slots, known.depth, _RANKS[known.health])

    # -- what this server does itself, between two looks at the database

    def note_leased(self, items: Sequence[LeasedItem], probed: Sequence[str]) -> None:
        for item in items:
            if (known := self._known.get(item.worker)) is not None:
                known.depth += 1
        for name in probed:
            self._known[name].probe = False

    def note_settled(self, journal: Journal) -> None:
        """What a journal that has been committed says of workers."""
        for run in journal.runs:
            known = self._known.get(run.worker)
            if known is not None and known.depth > 0:
                known.depth -= 1
            if run.outcome == "lost":
                self._lost.append(run)
            elif run.outcome != "released":
                self._tallies.setdefault(run.worker, Tally()).add(failed=run.outcome == "failed")
        self._pardons += journal.pardons

    async def catch_up(self) -> None:
        """Tells the database what was seen here, and learns how everyone stands."""
        tallies, self._tallies = self._tallies, {}
        lost, self._lost = self._lost, []
        pardons, self._pardons = self._pardons, []
        async with self._core.transaction() as tx:
            if tallies:
                await workers.note_runs(tx, tallies, self._core.settings.health_window)
            if lost:
                await workers.note_losses(tx, lost)
            if pardons:
                await workers.pardon_workers(tx, pardons)
            self._known = await workers.load_standings(tx)
            self.limited = await workers.find_limited_queues(tx)


def _is_over(known: Standing, request: LeaseRequest) -> bool:
    """A later life goes by its name now."""
    return known.life is not None and request.life is not None and known.life != request.life
