"""Finds the executions that start again together: the execution itself, the parents that failed because of it, and the failed
children that a retried step waits for again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tenax.engine.context import EngineContext
from tenax.engine.operate.reopen import How, ItemKey, ReopenRequest
from tenax.errors import Conflict
from tenax.model.events.parts import ParentRecord
from tenax.model.state.attempt import WorkState
from tenax.model.state.execution import ExecutionState, StepState, fold
from tenax.policy.plan import Plan
from tenax.policy.reopening import failed_items, is_lost, lost_steps
from tenax.store.connect import Connection
from tenax.store.rows import ExecutionRow
from tenax.store.tables.log import get_events
from tenax.store.tables.reopening import Origin, load_origins, lock_operated_items

Wanted = dict[str, frozenset[int] | None]


@dataclass(slots=True)
class LockedFamily:
    """Holds the executions that may start again together. All of them are locked."""

    tx: Connection
    context: EngineContext
    rows: Mapping[int, ExecutionRow]
    origins: Mapping[int, Origin]
    states: dict[int, ExecutionState] = field(default_factory=dict)

    async def plan(self, execution_id: int) -> Plan:
        return await self.context.plans.one(self.tx, self.rows[execution_id].plan_id)

    async def state(self, execution_id: int) -> ExecutionState:
        """Returns the state of an execution by its events."""
        if execution_id not in self.states:
            plan = await self.plan(execution_id)
            self.states[execution_id] = fold(await get_events(self.tx, execution_id), list(plan.steps))
        return self.states[execution_id]


async def lock_origins(tx: Connection, rows: Mapping[int, ExecutionRow]) -> dict[int, Origin]:
    return await load_origins(tx, list(rows))


async def requests_for(
    family: LockedFamily, execution_id: int, wanted: Wanted, how: How, actor: str, *, with_children: bool
) -> list[ReopenRequest]:
    """Returns what starts again with these steps of an execution: it and its family, the root first. Raises Conflict if a
    parent cannot go on."""
    requests: dict[int, ReopenRequest] = {}
    head = await _request(family, execution_id, wanted, how, actor, None)
    requests[execution_id] = head
    if not family.rows[execution_id].open:
        await _add_parents(family, head, requests)
    if with_children:
        await _add_children(family, head, requests)
    return [requests[id_] for id_ in sorted(requests)]


async def _request(
    family: LockedFamily, execution_id: int, wanted: Wanted, how: How, actor: str, because_of: int | None
) -> ReopenRequest:
    plan, state = await family.plan(execution_id), await family.state(execution_id)
    row = family.rows[execution_id]
    return ReopenRequest(row, plan, state, wanted, how, actor, was_closed=not row.open, because_of=because_of)


# -- upwards


async def _add_parents(family: LockedFamily, head: ReopenRequest, requests: dict[int, ReopenRequest]) -> None:
    """Adds the parents that failed because of an execution that runs again, up to the root."""
    child = head
    while (origin := family.origins[child.row.id]).parent_id is not None:
        if await _still_waits(family, origin):
            return
        parent = family.rows[origin.parent_id]
        work = await _work_of(family, origin)
        _check_parent(family, origin, work)
        assert work is not None
        assert origin.parent_step is not None
        number = origin.parent_item_no
        wanted: Wanted = {origin.parent_step: None if number is None else frozenset((number,))}
        request = await _request(family, parent.id, wanted, "grant", head.actor, head.row.id)
        _adopt(request, (origin.parent_step, number), work, child)
        requests[parent.id] = request
        if parent.open:
            return
        child = request


async def _still_waits(family: LockedFamily, origin: Origin) -> bool:
    """Returns whether the parent still waits, because it has not been told of the child's end yet."""
    assert origin.parent_id is not None
    numbers = () if origin.parent_item_no is None else (origin.parent_item_no,)
    items = await lock_operated_items(family.tx, origin.parent_id, origin.parent_step, numbers)
    return any(item.child == origin.id for item in items)


async def _work_of(family: LockedFamily, origin: Origin) -> WorkState | None:
    assert origin.parent_id is not None
    step = (await family.state(origin.parent_id)).steps.get(origin.parent_step or "")
    if step is None or origin.parent_item_no is None:
        return step
    return step.items.get(origin.parent_item_no)


def _check_parent(family: LockedFamily, origin: Origin, work: WorkState | None) -> None:
    """Refuses to start a child again whose parent cannot wait for it."""
    assert origin.parent_id is not None
    parent = family.rows[origin.parent_id]
    gone_on = work is None or not work.attempts or work.attempts[-1].child != origin.id
    step = family.states[parent.id].steps[origin.parent_step or ""]
    reason = None
    if family.origins[parent.id].deactivated:
        reason = "is deactivated"
    elif parent.state in ("completed", "cancelled"):
        reason = f"is {parent.state}"
    elif parent.compensation is not None:
        reason = "has failed, and its compensations have begun"
    elif gone_on or (work is not None and work.status != "failed"):
        reason = f"does not wait for it any more: step {origin.parent_step} has gone on"
    elif step.status == "completed" or (step.status == "failed" and not is_lost(step)):
        reason = f"has gone on without it: step {origin.parent_step} stands as {step.status}"
    if reason is not None:
        raise Conflict(
            f"execution {origin.id} cannot run again: its parent, execution {parent.id}, {reason}",
            remedy=f"run all of it as a new execution: `tenax retry {origin.id} --new`",
        )


def _adopt(parent: ReopenRequest, key: ItemKey, work: WorkState, child: ReopenRequest) -> None:
    """Lets a new attempt of the parent's item wait for the child. Nothing begins in a paused parent."""
    step, number = key
    if parent.row.state == "paused":
        raise Conflict(
            f"execution {parent.row.id} is paused: its child, execution {child.row.id}, cannot run again before it",
            remedy=f"resume it first: `tenax resume {parent.row.id}`",
        )
    parent.adopts[key] = child.row.id
    child.parent = ParentRecord(execution_id=parent.row.id, step=step, item=number, attempt=work.attempt + 1)


# -- downwards


async def _add_children(
    family: LockedFamily, head: ReopenRequest, requests: dict[int, ReopenRequest]
) -> None:
    """Adds the failed children of the steps that are retried, and theirs. Where a child cannot run again, the step starts
    another one."""
    for step, items in head.wanted.items():
        found = head.state.steps[step]
        if head.plan.steps[step].step.type != "workflow":
            continue
        works = [(None, found)] if items is None else [(n, found.items[n]) for n in sorted(items)]
        room = 1 if found.fan_out is None else found.fan_out.parallelism - _running(found)
        for number, work in works:
            if room <= 0:
                break  # the others begin when they have a slot, each with another child
            child_id = work.attempts[-1].child if work.attempts else None
            if (
                child_id is None
                or (step, number) in head.adopts
                or not await _can_run_again(family, child_id)
            ):
                continue
            state = await family.state(child_id)
            wanted: Wanted = {
                name: None if state.steps[name].fan_out is None else failed_items(state.steps[name])
                for name in lost_steps(state)
            }
            child = await _request(
                family, child_id, wanted, "grant", head.actor, head.because_of or head.row.id
            )
            _adopt(head, (step, number), work, child)
            requests[child_id] = child
            room -= 1
            await _add_children(family, child, requests)


def _running(step: StepState) -> int:
    return sum(item.status in ("running", "accepted") for item in step.items.values())


async def _can_run_again(family: LockedFamily, child_id: int) -> bool:
    row = family.rows.get(child_id)
    if row is None or row.state != "failed" or row.compensation is not None:
        return False
    return not family.origins[child_id].deactivated and bool(lost_steps(await family.state(child_id)))
