"""What this server knows of the workers: who stands how, what is leased to whom, what their attempts came to.

Kept in memory, and brought up to date with the database every second: choosing a worker costs no query, and telling
the health of one costs no attempt anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tenax.engine.context import Core
from tenax.engine.fleet.worker_rests import Rests
from tenax.engine.fleet.workers import is_outdated
from tenax.engine.notifier import Settled
from tenax.model.changes import Loss, Run
from tenax.model.wire import LeaseRequest, Registration
from tenax.policy.dispatch.assignment import DEGRADED, HEALTHY, PROBE, Able, Offer
from tenax.store.connect import Connection
from tenax.store.rows import LeasedItem
from tenax.store.tables import workers
from tenax.store.tables.workers import Standing, Tally

_RANKS: Final = {"healthy": HEALTHY, "degraded": DEGRADED}
_PROBE_SLOTS = 1


class Fleet:
    def __init__(self, core: Core) -> None:
        self._core = core
        self._known: dict[str, Standing] = {}
        self._seen = _Observed()
        self._rests = Rests(lambda: core.hub.wake(server_steps=False, messages=False))
        self._rows: dict[str, int] = {}
        """Failures in a row, as far as this server saw them."""
        self.limited: frozenset[str] = frozenset()
        """Queues that have a limit."""

    def offer(self, number: int, request: LeaseRequest) -> Offer | None:
        """What a request can be given now; None: nothing. Who is not known here yet is as good as any."""
        able = Able(frozenset(request.queues), frozenset(request.runtimes), request.labels)
        known = self._known.get(request.worker)
        if self._rests.is_resting(request.worker):
            return None
        if known is None:
            return Offer(number, able, request.worker, request.slots, 0)
        if known.state != "active" or _is_over(known, request) or is_outdated(known.protocol):
            return None
        if request.execution_id is not None:  # it is all that its execution has
            return Offer(number, able, request.worker, request.slots, known.depth)
        if known.health == "unhealthy":
            if not known.probe:
                return None
            return Offer(number, able, request.worker, min(request.slots, _PROBE_SLOTS), known.depth, PROBE)
        return Offer(number, able, request.worker, request.slots, known.depth, _RANKS[known.health])

    # -- what this server does itself, between two looks at the database

    def note_registered(self, who: Registration) -> None:
        """From now on the name is that of this life."""
        self._rests.end(who.worker)
        if (known := self._known.get(who.worker)) is not None:
            known.life, known.protocol = who.life, who.protocol

    def note_handed_back(self, worker: str, items: Sequence[int]) -> None:
        self._rests.note_handed_back(worker, items)

    def note_leased(self, items: Sequence[LeasedItem], probed: Sequence[str]) -> None:
        for item in items:
            if (known := self._known.get(item.worker)) is not None:
                known.depth += 1
        for name in probed:
            if (known := self._known.get(name)) is not None:
                known.probe = False

    def note_settled(self, settled: Settled) -> bool:
        """What has been committed says of workers. True: a limited queue may have room again."""
        for worker, runs in _by_worker(settled.runs).items():
            known = self._known.get(worker)
            if known is not None:
                known.depth = max(0, known.depth - len(runs))
            if worker in self._rows or any(run.outcome == "failed" for run in runs):
                for run in runs:
                    self._count_row(run)
            if runs[-1].outcome != "released":
                self._rests.end(worker)
            self._seen.add_runs(worker, runs)
        self._seen.lost += settled.losses
        self._seen.pardons += settled.pardons
        return bool(settled.runs and self.limited)

    def _count_row(self, run: Run) -> None:
        """Failures in a row are judged at once, and not at the next look: each of them costs someone an attempt."""
        if run.outcome == "sound":
            self._rows.pop(run.worker, None)
        elif run.outcome == "failed":
            row = self._rows[run.worker] = self._rows.get(run.worker, 0) + 1
            if row in (self._core.settings.degraded_failures, self._core.settings.unhealthy_failures):
                self._core.hub.listeners.fleet()

    async def catch_up(self) -> bool:
        """Tells the database what was seen here, and learns how everyone stands. True: that has changed who gets work."""
        seen, self._seen = self._seen, _Observed()
        try:
            async with self._core.transaction() as tx:
                await seen.write(tx, self._core.settings.health_window)
                known = await workers.load_standings(tx)
                limited = await workers.find_limited_queues(tx)
        except BaseException:  # it is raised again; what was not told is told the next time
            self._seen = seen.then(self._seen)
            raise
        changed = limited != self.limited or _who_gets_work(known) != _who_gets_work(self._known)
        self._known, self.limited = known, limited
        return changed


@dataclass(slots=True)
class _Observed:
    """What attempts came to since the database was last told."""

    tallies: dict[str, Tally] = field(default_factory=dict)
    ended: dict[str, list[Run]] = field(default_factory=dict)
    lost: list[Loss] = field(default_factory=list)
    pardons: list[int] = field(default_factory=list)

    def add_runs(self, worker: str, runs: Sequence[Run]) -> None:
        told = [run for run in runs if run.outcome != "lost"]
        if told:
            self.ended.setdefault(worker, []).extend(told)
        for run in told:
            if run.outcome != "released":
                self.tallies.setdefault(worker, Tally()).add(failed=run.outcome == "failed")

    def then(self, later: _Observed) -> _Observed:
        tallies = self.tallies | {
            name: self.tallies.get(name, Tally()).then(tally) for name, tally in later.tallies.items()
        }
        ended = self.ended | {name: self.ended.get(name, []) + runs for name, runs in later.ended.items()}
        return _Observed(tallies, ended, self.lost + later.lost, self.pardons + later.pardons)

    async def write(self, tx: Connection, window: float) -> None:
        if self.tallies:
            await workers.note_runs(tx, self.tallies, window)
        if self.ended:
            await workers.return_items(tx, self.ended)
        if self.lost:
            await workers.note_losses(tx, self.lost)
        if self.pardons:
            await workers.pardon_workers(tx, self.pardons)


def _by_worker(runs: Sequence[Run]) -> dict[str, list[Run]]:
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(run.worker, []).append(run)
    return found


def _who_gets_work(known: Mapping[str, Standing]) -> set[tuple[str, str | None, str, str, bool]]:
    return {(s.name, s.life, s.state, s.health, s.probe) for s in known.values()}


def _is_over(known: Standing, request: LeaseRequest) -> bool:
    """A later life goes by its name now, or nobody knows whose life the request is of."""
    return known.life is not None and known.life != request.life
