"""Watches the fleet, on the leading server: judges the health of each worker, probes workers that may have recovered,
and drains workers on which many items die.

`policy.dispatch.health` judges. This module collects its inputs and applies its verdicts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import structlog
from msgspec import UNSET

from tenax.engine.context import EngineContext
from tenax.model.durations import format_duration
from tenax.model.events import event
from tenax.model.events.data import OperatorData
from tenax.model.events.fleet_data import HealthChangedData, WorkerDrainedData
from tenax.model.events.types import OperatorAction, WorkerDrained, WorkerHealthChanged
from tenax.model.fleet.health import SERVER_ACTOR, HealthTerms
from tenax.policy.dispatch.health import (
    FAILURE_COLUMNS,
    HealthTest,
    Verdict,
    WorkerFacts,
    health_tests,
    judge_fleet,
    may_be_spared,
    may_probe,
    streak_is_over,
)
from tenax.settings import Settings
from tenax.store.connect import Connection
from tenax.store.dispatch import able_workers
from tenax.store.fleet import worker_health, workers
from tenax.store.fleet.worker_health import NewHealth, WorkerRow

LABELS_KNOWN = 10
"""Checks of the fleet between two queries for the labels that work asks for."""
_log = structlog.get_logger("tenax.fleet")


def terms_of(settings: Settings) -> HealthTerms:
    return HealthTerms(
        unhealthy_silence=settings.unhealthy_silence or settings.lease,
        degraded_failures=settings.degraded_failures,
        unhealthy_failures=settings.unhealthy_failures,
        degraded_depth=settings.degraded_depth,
        unhealthy_depth=settings.unhealthy_depth,
        degraded_rate=settings.degraded_rate,
        unhealthy_rate=settings.unhealthy_rate,
        window=settings.health_window,
        min_runs=settings.health_min_runs,
        probing=settings.probing,
        probe_after=settings.probe_after,
    )


def facts_of(
    row: WorkerRow, terms: HealthTerms, asked: frozenset[tuple[str, str]] | None = None
) -> WorkerFacts:
    """Returns a worker as it is judged. `asked` are the labels that work asks for: other labels do not make a worker
    irreplaceable."""
    report = row.reported or {}
    # A resumed worker still counts its old failures for a while. Its count is used once the server has seen a new
    # failure of it.
    reported_failures = report.get("consecutive_failures", 0) if row.report_is_news and row.streak else 0
    # Failures are judged by their figures, under the floor. The worker's own status counts only for other reasons.
    status = report.get("status")
    if status == "degraded" and report.get("consecutive_failures", 0) >= terms.degraded_failures:
        status = None
    labels = row.labels if asked is None else {k: v for k, v in row.labels.items() if (k, v) in asked}
    return WorkerFacts(
        name=row.name,
        runtimes=tuple(row.runtimes),
        queues=tuple(row.queues),
        labels=labels,
        slots=row.slots,
        state=row.state,
        health=row.health,
        heartbeat_age=max(0.0, row.heartbeat_age),
        consecutive_failures=max(row.streak, reported_failures),
        last_failure_age=row.last_failure_age,
        queue_depth=max(row.depth, report.get("queue_depth", 0)),
        runs=row.runs,
        failures=row.failures,
        reported_status=status,
        recovering=_is_recovering(row, terms),
        serves=row.serves,
    )


@dataclass(frozen=True, slots=True)
class _FleetLook:
    """Holds the fleet at one moment, with the verdicts on it."""

    rows: Sequence[WorkerRow]
    fleet: Mapping[str, WorkerFacts]
    verdicts: Mapping[str, Verdict]

    def is_spared(self, row: WorkerRow) -> bool:
        """Returns whether other workers can do everything that this one can do."""
        return may_be_spared(self.fleet[row.name], self.fleet.values(), self.verdicts)


class HealthWatch:
    def __init__(self, context: EngineContext) -> None:
        self._context = context
        self._asked: frozenset[tuple[str, str]] = frozenset()
        self._looks = 0
        self._depths: Mapping[str, int] | None = None
        """Unreported items of each worker at the last look. None before the first look."""

    async def look(self) -> int:
        """Judges all live workers. Returns the number of workers whose health changed."""
        terms = terms_of(self._context.settings)
        async with self._context.transaction() as tx:
            lease = self._context.settings.lease
            if await worker_health.is_fleet_sound(tx, terms.unhealthy_silence, lease, terms.window):
                self._looks = 0
                self._depths = {}
                return 0
            if self._looks % LABELS_KNOWN == 0:
                self._asked = await able_workers.find_asked_labels(tx)
            self._looks += 1
            rows = await worker_health.load_workers(tx, terms.window, lease)
            back = [row for row in rows if _has_come_back(row)]
            if back:
                await worker_health.clear_workers(tx, [row.name for row in back])
            rows = [_recovered(row) if row in back else row for row in rows]
            rows = await self._end_streaks(tx, rows)
            fleet = self._with_lasting_depth([facts_of(row, terms, self._asked) for row in rows])
            verdicts = judge_fleet(list(fleet.values()), terms)
            seen = _FleetLook(rows, fleet, verdicts)
            changed = await self._write(tx, seen)
            moved = await self._take_back(tx, seen) or await self._drain(tx, seen)
        return changed + moved

    def _with_lasting_depth(self, fleet: Sequence[WorkerFacts]) -> dict[str, WorkerFacts]:
        """Limits the depth of each worker to items that it had at the last look too. A worker that leases while it
        reports holds twice its slots for a moment, which must not count against it."""
        before, self._depths = self._depths, {seen.name: seen.queue_depth for seen in fleet}
        if before is None:
            return {seen.name: seen for seen in fleet}
        return {
            seen.name: replace(seen, queue_depth=min(seen.queue_depth, before.get(seen.name, 0)))
            for seen in fleet
        }

    async def _end_streaks(self, tx: Connection, rows: Sequence[WorkerRow]) -> list[WorkerRow]:
        """Clears streaks that are over, so that the counts end together with their verdicts. Returns
        the updated rows."""
        terms = terms_of(self._context.settings)
        over = [row.name for row in rows if streak_is_over(facts_of(row, terms), terms)]
        if over:
            await worker_health.end_streaks(tx, over)
        return [replace(row, streak=0) if row.name in over else row for row in rows]

    async def _write(self, tx: Connection, seen: _FleetLook) -> int:
        terms = terms_of(self._context.settings)
        changes: list[NewHealth] = []
        events: list[dict[str, Any]] = []
        for row in seen.rows:
            verdict = seen.verdicts[row.name]
            if verdict.health == "healthy" and _is_plain(row):
                continue
            table = health_tests(seen.fleet[row.name], terms)
            probe_at = _probe_at(row, verdict, table, terms)
            since = row.recovering_since if seen.fleet[row.name].recovering else None
            new = NewHealth(row.name, verdict.health, verdict.column, probe_at, since)
            old = NewHealth(row.name, row.health, row.health_column, row.probe_at, row.recovering_since)
            if new != old:
                changes.append(new)
            if verdict.health != row.health:
                events.append(_changed(row, verdict, table, probe_at))
        if changes:
            await worker_health.change_health(tx, changes, events)
        return len(changes)

    async def _take_back(self, tx: Connection, seen: _FleetLook) -> int:
        """Resumes one worker that was drained here if some work would now have no worker. Only one is resumed at each
        look."""
        for row in seen.rows:
            verdict = seen.verdicts[row.name]
            if row.state != "draining" or row.state_actor != SERVER_ACTOR:
                continue
            if verdict.health == "unhealthy" and verdict.column not in FAILURE_COLUMNS:
                continue
            if seen.is_spared(row):
                continue
            reason = "nobody else is left for all that it can do"
            await workers.set_worker_state(tx, row.name, "active", reason=reason, actor=SERVER_ACTOR)
            data = OperatorData(action="worker_resume", worker=row.name, actor=SERVER_ACTOR, reason=reason)
            await workers.log_action(tx, event(OperatorAction, data=data))
            _log.warning("a worker that was drained gets work again", worker=row.name, reason=reason)
            return 1
        return 0

    async def _drain(self, tx: Connection, seen: _FleetLook) -> int:
        """Drains one worker at each look. The others are judged at the next look by the workers that remain."""
        limit = self._context.settings.drain_after
        for row in seen.rows:
            if not limit or row.losses < limit or row.state != "active":
                continue
            if not seen.is_spared(row):
                continue
            within = format_duration(self._context.settings.health_window)
            reason = f"it was lost {row.losses} times with work in its hands within {within}"
            await workers.set_worker_state(tx, row.name, "draining", reason=reason, actor=SERVER_ACTOR)
            data = WorkerDrainedData(worker=row.name, reason=reason, losses=row.losses)
            await workers.log_fleet_events(tx, [event(WorkerDrained, data=data)])
            _log.error("a worker on which many items died is drained", worker=row.name, losses=row.losses)
            return 1
        return 0


def _is_plain(row: WorkerRow) -> bool:
    """Returns whether the worker is healthy with nothing left of an earlier state."""
    return (
        row.health == "healthy"
        and row.health_column is None
        and row.probe_at is None
        and row.recovering_since is None
    )


def _has_come_back(row: WorkerRow) -> bool:
    """Returns whether an unhealthy worker has completed the one item that it was given as a probe."""
    return (
        row.health == "unhealthy"
        and row.health_column in FAILURE_COLUMNS
        and row.probed_at is not None
        and row.health_since is not None
        and row.probed_at >= row.health_since
        and row.last_success_at is not None
        and row.last_success_at > row.probed_at
    )


def _recovered(row: WorkerRow) -> WorkerRow:
    return replace(row, streak=0, runs=0, failures=0, losses=0, recovering_since=row.now)


def _is_recovering(row: WorkerRow, terms: HealthTerms) -> bool:
    """Returns whether the worker recovers: until its next success, or without failures for as long as a probe would
    have waited."""
    since = row.recovering_since
    if since is None or (row.last_success_at is not None and row.last_success_at > since):
        return False
    quiet = (row.now - since).total_seconds()
    if row.last_failure_age is not None:
        quiet = min(quiet, row.last_failure_age)
    return quiet < terms.probe_after


def _probe_at(
    row: WorkerRow, verdict: Verdict, table: Sequence[HealthTest], terms: HealthTerms
) -> datetime | None:
    """Returns when the worker may be given its probe. Returns None if it has one, or if more than its failures speaks
    against it."""
    others = any(c.health == "unhealthy" and c.name not in FAILURE_COLUMNS for c in table)
    if others or not may_probe(verdict.health, verdict.column, row.state, terms):
        return None
    after = row.now + timedelta(seconds=terms.probe_after)
    if row.health != "unhealthy":
        return after
    return row.probe_at or (None if row.given_work else after)


def _changed(
    row: WorkerRow, verdict: Verdict, table: Sequence[HealthTest], probe_at: datetime | None
) -> dict[str, Any]:
    data = HealthChangedData(
        worker=row.name,
        from_=row.health,
        to=verdict.health,
        column=verdict.column,
        value=verdict.value,
        threshold=verdict.threshold,
        floored=verdict.floored,
        columns={column.name: column.value for column in table},
        probe_at=probe_at if probe_at is not None else UNSET,
    )
    said = {
        "worker": row.name,
        "from": row.health,
        "to": verdict.health,
        "column": verdict.column,
        "value": verdict.value,
    }
    fields = {name: value for name, value in said.items() if value is not None}
    tell = _log.warning if verdict.health == "unhealthy" else _log.info
    tell("the health of a worker changed", **fields)
    return event(WorkerHealthChanged, data=data)
