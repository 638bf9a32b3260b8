"""Creates, replaces and deletes schedules in the transaction of what declares them: a stored file, or a person."""

from __future__ import annotations

from tenax.errors import Conflict
from tenax.model.definition.workflow import Workflow
from tenax.model.events.audit import NewEntry
from tenax.model.schedule.look import look_at
from tenax.model.schedule.schedule import Schedule
from tenax.model.schedule.ticks import next_after
from tenax.store import service
from tenax.store.audit import insert_entries
from tenax.store.connect import Connection
from tenax.store.schedules import schedules

MAX_SCHEDULES = 10_000


async def declare_schedule(tx: Connection, workflow: Workflow, actor: str) -> float | None:
    """Makes the schedule of a workflow that is being stored what its file declares: a file without one deletes it. Returns
    the seconds until it is looked at, or None."""
    if workflow.schedule is not None:
        return await put_schedule(
            tx, workflow.name, workflow.name, workflow.schedule, declared=True, actor=actor
        )
    known = await schedules.lock(tx, workflow.name)
    if known is not None and known.declared:
        await schedules.delete(tx, workflow.name)
        await insert_entries(tx, [NewEntry(actor, "schedule_delete", "schedule", workflow.name)])
    return None


async def put_schedule(
    tx: Connection, name: str, workflow: str, schedule: Schedule, *, declared: bool, actor: str
) -> float | None:
    """Creates a schedule, or replaces it. One that stays as it is keeps its next tick. Returns the seconds until it is looked
    at, or None."""
    known = await schedules.lock(tx, name)
    if known is not None:
        _check_owner(name, was_declared=known.declared, declared=declared)
        if (known.workflow, known.schedule) == (workflow, schedule):
            return None
    now = known.now if known is not None else await service.now(tx)
    next_tick = next_after(schedule, now)
    at = look_at(name, schedule, next_tick, waits=False, now=now)
    created = await schedules.put(
        tx, name, workflow, schedule, declared=declared, next_tick=next_tick, look_at=at
    )
    if created and await schedules.count(tx) > MAX_SCHEDULES:
        raise Conflict(
            f"there are {MAX_SCHEDULES:,} schedules, which is the most",
            remedy="delete one by `tenax schedules delete NAME`",
        )
    data = {"workflow": workflow, **schedule.as_dict()}
    action = "schedule_create" if created else "schedule_change"
    await insert_entries(tx, [NewEntry(actor, action, "schedule", name, data=data)])
    return None if at is None else (at - now).total_seconds()


def _check_owner(name: str, *, was_declared: bool, declared: bool) -> None:
    if was_declared and not declared:
        raise Conflict(
            f"schedule {name} is declared by the file of workflow {name}",
            remedy="change it there and store the file again, or give this schedule another name",
        )
    if declared and not was_declared:
        raise Conflict(
            f"workflow {name} declares a schedule, but a person has created a schedule of this name",
            remedy=f"delete that one by `tenax schedules delete {name}`, and store the file again",
        )
