"""Makes the views of schedules."""

from __future__ import annotations

import msgspec

from tenax.model.events import timestamp
from tenax.model.schedule.ticks import next_ticks
from tenax.model.schedule.views import ScheduleInfo, ScheduleInFull, ScheduleRun, ScheduleState
from tenax.store.connect import Connection
from tenax.store.schedules import schedule_runs
from tenax.store.schedules.schedule_runs import StoredRun
from tenax.store.schedules.schedules import ListedSchedule, ScheduleRow


def schedule_info(found: ListedSchedule) -> ScheduleInfo:
    row = found.row
    return ScheduleInfo(
        name=row.name,
        workflow=row.workflow,
        state=_state(row),
        schedule=row.schedule.as_dict(),
        declared=row.declared,
        next_at=None if row.paused_at is not None else timestamp(row.next_tick),
        waiting=[timestamp(one.tick) for one in row.waiting],
        last_execution=row.last_execution,
        last_status=found.last_state,
        last_started_at=timestamp(found.last_started_at),
        failures=found.failures,
        paused_by=row.paused_by,
        paused_why=row.paused_why,
        paused_at=timestamp(row.paused_at),
        created_at=timestamp(found.created_at),
    )


async def schedule_in_full(tx: Connection, found: ListedSchedule, ticks: int, runs: int) -> ScheduleInFull:
    info = schedule_info(found)
    row = found.row
    coming = [] if row.paused_at is not None else next_ticks(row.schedule, row.now, ticks)
    return ScheduleInFull(
        **msgspec.structs.asdict(info),
        next_ticks=[timestamp(one) for one in coming],
        runs=[_run(one) for one in await schedule_runs.list_runs(tx, row.name, runs)],
    )


def _run(run: StoredRun) -> ScheduleRun:
    return ScheduleRun(
        id=run.id,
        at=timestamp(run.at),
        kind=run.kind,
        tick=timestamp(run.tick),
        until=timestamp(run.until),
        reason=run.reason,
        note=run.note,
        execution_id=run.execution_id,
        status=run.state,
    )


def _state(row: ScheduleRow) -> ScheduleState:
    if row.paused_at is not None:
        return "paused"
    return "over" if row.look_at is None else "active"
