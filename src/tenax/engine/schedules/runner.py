"""Starts what is due by schedules and by delays. Any server may do it: the row of a schedule is locked while it is moved on.

The execution of a tick, the next tick and the record of both are one transaction. So each tick starts exactly once, whatever
number of servers look at it, and whenever one of them is killed.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace

import structlog

from tenax.engine.context import EngineContext
from tenax.engine.graph.start_execution import Start
from tenax.engine.operate import family
from tenax.engine.schedules.delayed_starts import start_delayed
from tenax.engine.schedules.starting import announce_start, prepare_start, start_in, tick_key
from tenax.errors import Conflict, TenaxError, Unreachable
from tenax.model.events.audit import NewEntry
from tenax.model.schedule.look import Look, ScheduleFacts, look, look_at
from tenax.store.audit import insert_entries
from tenax.store.connect import Connection
from tenax.store.schedules import schedule_runs, schedules
from tenax.store.schedules.schedule_runs import NewRun
from tenax.store.schedules.schedules import ScheduleRow

AT_ONCE = 100  # schedules that one query finds
ACTOR = "tenax:schedule:"
"""The prefix of the actor that acts for a schedule."""
_log = structlog.get_logger("tenax.schedules")


class ScheduleRunner:
    def __init__(self, context: EngineContext) -> None:
        self._context = context

    async def start_due(self) -> int:
        """Starts what is due now. Returns the number of schedules and executions that it has dealt with."""
        async with self._context.statements() as tx:
            due = await schedules.find_due(tx, AT_ONCE)
        done = 0
        for name, workflow in due:
            done += await self._advance(name, workflow)
        return done + await start_delayed(self._context)

    async def _advance(self, name: str, workflow: str) -> bool:
        """Moves a schedule on. A fault that concerns only this schedule is recorded with it, and stops no other one."""
        try:
            return await self._move_on(name, workflow)
        except Unreachable:
            raise
        except Exception as error:  # noqa: BLE001 -- the fault, whatever it is, concerns this schedule only
            _log.exception("a schedule could not start an execution", schedule=name)
            return await self._move_on(name, workflow, f"{type(error).__name__}: {error}")

    async def _move_on(self, name: str, workflow: str, fault: str | None = None) -> bool:
        """Looks at a schedule and does what is due. `fault` is why no execution can start. Returns False if another server
        deals with it."""
        start: Start | str = fault or await self._prepare(name, workflow)
        for is_last in (False, True):
            async with self._context.transaction() as tx:
                row = await schedules.lock_due(tx, name)
                if row is None or row.workflow != workflow:
                    return False
                decided = look(name, row.schedule, await _facts(tx, row), row.now)
                if not decided.cancels or is_last:
                    await self._write(tx, row, decided, start)
                    break
            await self._cancel(row)
        if decided.starts and isinstance(start, Start):
            announce_start(self._context, start)
        return True

    async def _prepare(self, name: str, workflow: str) -> Start | str:
        """Returns the start of an execution, or why there can be none."""
        async with self._context.statements() as tx:
            listed = await schedules.list_schedules(tx, name)
        given = listed[0].row.schedule.input if listed else {}
        try:
            return await prepare_start(self._context, workflow, given)
        except Unreachable:
            raise
        except TenaxError as error:
            return error.message

    async def _cancel(self, row: ScheduleRow) -> None:
        """Cancels the last execution, for the tick that takes its place."""
        assert row.last_execution is not None
        with contextlib.suppress(Conflict):  # it has ended by itself
            await family.cancel(
                self._context,
                row.last_execution,
                actor=ACTOR + row.name,
                reason="the next tick of its schedule takes its place",
            )

    async def _write(self, tx: Connection, row: ScheduleRow, decided: Look, start: Start | str) -> None:
        """Writes what a look has decided: new executions, the schedule, and the record of both."""
        runs = [NewRun("skipped", one.tick, one.until, one.reason) for one in decided.skipped]
        last = row.last_execution
        for one in decided.starts:
            if isinstance(start, Start):
                keyed = replace(start, key=tick_key(row.name, one.tick))
                last = await start_in(tx, self._context, row.now, keyed)
                runs.append(NewRun("started", one.tick, reason=one.origin, execution_id=last))
            else:
                runs.append(NewRun("failed", one.tick, reason=one.origin, note=start))
        at = look_at(row.name, row.schedule, decided.next_tick, waits=bool(decided.waiting), now=row.now)
        if decided.starts and isinstance(start, str) and decided.waiting:
            at = row.now  # nothing runs for which the others would wait
        await schedules.save(
            tx,
            row.name,
            next_tick=decided.next_tick,
            look_at=at,
            waiting=decided.waiting,
            last_execution=last,
        )
        if decided.pauses:
            runs.append(await _pause(tx, row))
        await schedule_runs.record(tx, row.name, runs)


async def _facts(tx: Connection, row: ScheduleRow) -> ScheduleFacts:
    """Reads what a look depends on."""
    most = row.schedule.pause_after_failures
    failures = 0
    if most is not None:
        failures = await schedule_runs.count_failures(tx, row.name, row.counted_from, most)
    is_running = await schedule_runs.is_open(tx, row.last_execution)
    return ScheduleFacts(row.next_tick, row.waiting, is_running, failures)


async def _pause(tx: Connection, row: ScheduleRow) -> NewRun:
    """Pauses a schedule that has failed too often."""
    most = row.schedule.pause_after_failures
    reason = f"{most} executions in a row have failed" if most != 1 else "its execution has failed"
    await schedules.pause(tx, row.name, ACTOR + row.name, reason)
    entry = NewEntry(ACTOR + row.name, "schedule_pause", "schedule", row.name, reason=reason)
    await insert_entries(tx, [entry])
    return NewRun("paused", note=reason)
