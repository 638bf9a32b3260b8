"""Offers what people do with schedules: list, show, create, pause, resume, run and delete them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenax.engine.context import EngineContext
from tenax.engine.schedules.starting import announce_start, prepare_start, start_in
from tenax.engine.schedules.viewing import schedule_in_full, schedule_info
from tenax.engine.submit.declared_schedules import put_schedule
from tenax.errors import Conflict, NotFound, UsageError
from tenax.model.events import timestamp
from tenax.model.events.audit import NewEntry
from tenax.model.names import is_workflow_name
from tenax.model.parse.keys.schedule_keys import read_schedule
from tenax.model.schedule.look import look_at
from tenax.model.schedule.ticks import next_after, next_ticks
from tenax.model.schedule.views import (
    DeletedSchedule,
    ScheduleAnswer,
    ScheduleInfo,
    ScheduleInFull,
    SchedulePauseAnswer,
    ScheduleStarted,
    ScheduleTicks,
)
from tenax.model.source.findings import shorten, suggest
from tenax.store.audit import insert_entries
from tenax.store.connect import Connection
from tenax.store.schedules import schedule_runs, schedules
from tenax.store.schedules.schedule_runs import NewRun
from tenax.store.schedules.schedules import ScheduleRow

TICKS_SHOWN = 5
RUNS_SHOWN = 20
MOST_TICKS = 1000


class Schedules:
    """Keeps the schedules that files declare and that people create."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context

    async def list(self) -> list[ScheduleInfo]:
        async with self._context.view() as tx:
            return [schedule_info(one) for one in await schedules.list_schedules(tx)]

    async def get(self, name: str) -> ScheduleInFull:
        """Returns a schedule with its next ticks and its newest runs."""
        async with self._context.view() as tx:
            found = await schedules.list_schedules(tx, name)
            if not found:
                raise await _unknown(tx, name)
            return await schedule_in_full(tx, found[0], TICKS_SHOWN, RUNS_SHOWN)

    async def next(self, name: str, most: int = 10) -> ScheduleTicks:
        """Returns the next ticks of a schedule, also of one that is paused."""
        async with self._context.view() as tx:
            found = await schedules.list_schedules(tx, name)
            if not found:
                raise await _unknown(tx, name)
        row = found[0].row
        ticks = next_ticks(row.schedule, row.now, min(most, MOST_TICKS))
        return ScheduleTicks(name=name, ticks=[timestamp(one) for one in ticks])

    async def create(
        self, name: str, workflow: str, body: Mapping[str, Any], *, actor: str
    ) -> ScheduleAnswer:
        """Creates a schedule of a stored workflow, or replaces one that a person created. `body` has the keys of a file's
        `schedule`."""
        if not is_workflow_name(name):
            raise UsageError(
                f"{shorten(repr(name))} cannot be the name of a schedule",
                remedy="use up to 200 letters, digits, `_`, `-` and `.`",
            )
        schedule = read_schedule(body)
        await prepare_start(
            self._context, workflow, schedule.input
        )  # raises an error if it could never start
        async with self._context.transaction() as tx:
            is_new = await schedules.lock(tx, name) is None
            due_in = await put_schedule(tx, name, workflow, schedule, declared=False, actor=actor)
            [listed] = await schedules.list_schedules(tx, name)
        self._wake(due_in)
        return ScheduleAnswer(name=name, created=is_new, next_at=timestamp(listed.row.next_tick))

    async def pause(self, name: str, *, actor: str, reason: str | None = None) -> SchedulePauseAnswer:
        """Pauses a schedule: no tick starts an execution, and none is made up for. What runs goes on."""
        async with self._context.transaction() as tx:
            row = await _locked(tx, name)
            changed = row.paused_at is None
            if changed:
                await schedules.pause(tx, name, actor, reason)
                await insert_entries(tx, [NewEntry(actor, "schedule_pause", "schedule", name, reason=reason)])
        return SchedulePauseAnswer(name=name, paused=True, changed=changed)

    async def resume(self, name: str, *, actor: str, reason: str | None = None) -> SchedulePauseAnswer:
        """Resumes a schedule from now on, and forgets its failures."""
        at = None
        async with self._context.transaction() as tx:
            row = await _locked(tx, name)
            changed = row.paused_at is not None
            if changed:
                next_tick = next_after(row.schedule, row.now)
                at = look_at(name, row.schedule, next_tick, waits=False, now=row.now)
                await schedules.resume(tx, name, next_tick, at)
                await insert_entries(
                    tx, [NewEntry(actor, "schedule_resume", "schedule", name, reason=reason)]
                )
        self._wake(None if at is None else (at - row.now).total_seconds())
        return SchedulePauseAnswer(name=name, paused=False, changed=changed)

    async def run_now(self, name: str, *, actor: str, reason: str | None = None) -> ScheduleStarted:
        """Starts an execution now, also while another one runs. Ticks come as before, and meet it as the last execution."""
        async with self._context.transaction() as tx:
            row = await _locked(tx, name)
        start = await prepare_start(self._context, row.workflow, row.schedule.input)
        async with self._context.transaction() as tx:
            row = await _locked(tx, name)
            number = await start_in(tx, self._context, row.now, start)
            await schedules.set_last_execution(tx, name, number)
            run = NewRun("started", reason="by_hand", note=actor, execution_id=number)
            await schedule_runs.record(tx, name, [run])
            data = {"execution": number}
            entry = NewEntry(actor, "schedule_run", "schedule", name, reason=reason, data=data)
            await insert_entries(tx, [entry])
        announce_start(self._context, start)
        return ScheduleStarted(name=name, execution_id=number)

    async def delete(self, name: str, *, actor: str, reason: str | None = None) -> DeletedSchedule:
        """Deletes a schedule that a person created, with the record of its runs. Its executions stay."""
        async with self._context.transaction() as tx:
            row = await _locked(tx, name)
            if row.declared:
                raise Conflict(
                    f"schedule {name} is declared by the file of workflow {name}",
                    remedy=f"store the file without `schedule`, or pause it: `tenax schedules pause {name}`",
                )
            await schedules.delete(tx, name)
            await insert_entries(tx, [NewEntry(actor, "schedule_delete", "schedule", name, reason=reason)])
        return DeletedSchedule(name=name, deleted=True)

    def _wake(self, due_in: float | None) -> None:
        if due_in is not None:
            self._context.notifier.announce(due_in=due_in)


async def _locked(tx: Connection, name: str) -> ScheduleRow:
    row = await schedules.lock(tx, name)
    if row is None:
        raise await _unknown(tx, name)
    return row


async def _unknown(tx: Connection, name: str) -> NotFound:
    known = [one.row.name for one in await schedules.list_schedules(tx)]
    return NotFound(
        f"there is no schedule {shorten(repr(name))}{suggest(name, known)}",
        remedy="`tenax schedules list` lists the schedules",
    )
