"""Keeps in memory what this server knows of the workers: their health, the items leased to them, the results of their
attempts.

The view is synchronised with the database every second. So choosing a worker costs no query, and recording its health
costs an attempt nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tenax.engine.context import EngineContext
from tenax.engine.fleet.worker_rests import WorkerRests
from tenax.engine.fleet.workers import is_outdated
from tenax.engine.notifier import WorkerEffects
from tenax.model.changes import Loss, Run
from tenax.model.wire import LeaseRequest, Registration
from tenax.policy.dispatch.assignment import DEGRADED, HEALTHY, PROBE, Abilities, Offer
from tenax.store.connect import Connection
from tenax.store.dispatch import able_workers
from tenax.store.fleet import worker_health, workflow_pauses
from tenax.store.fleet.worker_health import RunTally, WorkerStanding
from tenax.store.rows import LeasedItem

_RANKS: Final = {"healthy": HEALTHY, "degraded": DEGRADED}
_PROBE_SLOTS = 1


class Fleet:
    def __init__(self, context: EngineContext) -> None:
        self._context = context
        self._known: dict[str, WorkerStanding] = {}
        self._seen = _Observed()
        self._rests = WorkerRests(lambda: context.notifier.wake(server_steps=False, messages=False))
        self._streaks: dict[str, int] = {}
        """Failures in a row by worker, as far as this server saw them."""
        self.limited: frozenset[str] = frozenset()
        """Queues that have a limit."""

    def offer(self, number: int, request: LeaseRequest) -> Offer | None:
        """Returns what a request can be given now, or None if it can be given nothing. Unknown workers count as
        healthy."""
        able = Abilities(frozenset(request.queues), frozenset(request.runtimes), request.labels)
        known = self._known.get(request.worker)
        if self._rests.is_resting(request.worker):
            return None
        if known is None:
            return Offer(number, able, request.worker, request.slots, 0)
        if known.state != "active" or _is_over(known, request) or is_outdated(known.protocol):
            return None
        if request.execution_id is not None:  # the execution has no other worker
            return Offer(number, able, request.worker, request.slots, known.depth)
        if known.health == "unhealthy":
            if not known.probe:
                return None
            return Offer(number, able, request.worker, min(request.slots, _PROBE_SLOTS), known.depth, PROBE)
        return Offer(number, able, request.worker, request.slots, known.depth, _RANKS[known.health])

    # -- what this server does itself, between two reads of the database

    def note_registered(self, who: Registration) -> None:
        """Gives the name to this life of the worker."""
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

    def note_worker_effects(self, effects: WorkerEffects) -> bool:
        """Records the effects of a commit on workers. Returns True if a limited queue may have room again."""
        for worker, runs in _by_worker(effects.runs).items():
            known = self._known.get(worker)
            if known is not None:
                known.depth = max(0, known.depth - len(runs))
            if worker in self._streaks or any(run.outcome == "failed" for run in runs):
                for run in runs:
                    self._count_streak(run)
            if runs[-1].outcome != "released":
                self._rests.end(worker)
            self._seen.add_runs(worker, runs)
        self._seen.lost += effects.losses
        self._seen.pardons += effects.pardons
        return bool(effects.runs and self.limited)

    def _count_streak(self, run: Run) -> None:
        """Counts failures in a row. They are judged at once and not at the next check, because each of them costs an attempt."""
        if run.outcome == "sound":
            self._streaks.pop(run.worker, None)
        elif run.outcome == "failed":
            streak = self._streaks[run.worker] = self._streaks.get(run.worker, 0) + 1
            if streak in (
                self._context.settings.degraded_failures,
                self._context.settings.unhealthy_failures,
            ):
                self._context.notifier.listeners.fleet()

    async def catch_up(self) -> bool:
        """Tells the database what was seen here, and loads the state of all workers. Returns True if other workers may
        get work now."""
        seen, self._seen = self._seen, _Observed()
        try:
            async with self._context.transaction() as tx:
                await seen.write(tx, self._context.settings.health_window)
                known = await worker_health.load_standings(tx)
                limited = await able_workers.find_limited_queues(tx)
                self._context.workflow_pauses = await workflow_pauses.load_pauses(tx)
        except BaseException:  # raised again; the observations are kept for the next time
            self._seen = seen.then(self._seen)
            raise
        changed = limited != self.limited or _who_gets_work(known) != _who_gets_work(self._known)
        self._known, self.limited = known, limited
        return changed


@dataclass(slots=True)
class _Observed:
    """Holds the results of attempts since the database was last told."""

    tallies: dict[str, RunTally] = field(default_factory=dict)
    ended: dict[str, list[Run]] = field(default_factory=dict)
    lost: list[Loss] = field(default_factory=list)
    pardons: list[int] = field(default_factory=list)

    def add_runs(self, worker: str, runs: Sequence[Run]) -> None:
        not_lost = [run for run in runs if run.outcome != "lost"]
        if not_lost:
            self.ended.setdefault(worker, []).extend(not_lost)
        for run in not_lost:
            if run.outcome != "released":
                self.tallies.setdefault(worker, RunTally()).add(failed=run.outcome == "failed")

    def then(self, later: _Observed) -> _Observed:
        tallies = self.tallies | {
            name: self.tallies.get(name, RunTally()).then(tally) for name, tally in later.tallies.items()
        }
        ended = self.ended | {name: self.ended.get(name, []) + runs for name, runs in later.ended.items()}
        return _Observed(tallies, ended, self.lost + later.lost, self.pardons + later.pardons)

    async def write(self, tx: Connection, window: float) -> None:
        if self.tallies:
            await worker_health.note_runs(tx, self.tallies, window)
        if self.ended:
            await worker_health.return_items(tx, self.ended)
        if self.lost:
            await worker_health.note_losses(tx, self.lost)
        if self.pardons:
            await worker_health.pardon_workers(tx, self.pardons)


def _by_worker(runs: Sequence[Run]) -> dict[str, list[Run]]:
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(run.worker, []).append(run)
    return found


def _who_gets_work(known: Mapping[str, WorkerStanding]) -> set[tuple[str, str | None, str, str, bool]]:
    return {(s.name, s.life, s.state, s.health, s.probe) for s in known.values()}


def _is_over(known: WorkerStanding, request: LeaseRequest) -> bool:
    """Returns whether the request is of an ended life: a later life has the name now, or the life is unknown."""
    return known.life is not None and known.life != request.life
