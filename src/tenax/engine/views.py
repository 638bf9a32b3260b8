"""What people see of executions."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from msgspec import to_builtins

from tenax.engine.core import Core, no_execution
from tenax.engine.nets import DECIDES_HOLDS, held_steps
from tenax.engine.waiting_at import NOTHING, items_waiting_at, steps_waiting_at
from tenax.errors import Conflict, NotFound
from tenax.model.events import timestamp
from tenax.model.fan_out_state import fan_out_status
from tenax.model.findings import suggest
from tenax.model.state import ExecutionState, apply, fold
from tenax.model.views import (
    Awaited,
    Compensation,
    ExecutionSummary,
    ItemInfo,
    Standing,
    Tree,
    WaitingItem,
)
from tenax.policy.plan import Plan, PlannedStep
from tenax.store import executions
from tenax.store.connect import Connection
from tenax.store.events import find_log_place, get_events_page, get_new_events, get_step_level_events
from tenax.store.fans import count_items, list_items
from tenax.store.steps import load_step_results

ITEMS_FOLDED = 1000
"""Up to so many items of fan-outs, all is told from the events; beyond, it is counted in the tables."""
CHILDREN_SHOWN = 100
NODES_SHOWN = 500

_TIMES = ("created_at", "deadline_at", "finished_at")


async def get(core: Core, execution_id: int) -> dict[str, Any]:
    """One execution with its steps, folded from its events."""
    async with core.transaction() as tx:
        row = await executions.get_execution(tx, execution_id)
        if row is None:
            raise no_execution(execution_id)
        plan = await core.plans.one(tx, row["plan_id"])
        fans = await count_items(tx, execution_id) if not plan.single else {}
        many = sum(fan["total"] for fan in fans.values()) > ITEMS_FOLDED
        told = await _fold(tx, execution_id, plan, with_items=not many)
        keys = [(execution_id, step) for step, fan in fans.items() if fan["total"] <= ITEMS_FOLDED]
        # What a fallback has lent to the step that failed is in no event of that step.
        keys += [
            (execution_id, name)
            for name, step in plan.steps.items()
            if not step.is_final and name not in fans
        ]
        results = await load_step_results(tx, keys) if keys else {}
        children = await executions.get_family(tx, [execution_id], CHILDREN_SHOWN) if plan.children else []
        is_open = row["state"] in ("running", "paused")
        waiting_at = await steps_waiting_at(tx, core, execution_id) if is_open else {}
        held = await held_steps(tx, execution_id, list(told.holds.values())) if is_open else {}
    steps = {name: step.as_dict() for name, step in told.state.steps.items()}
    for name, planned in plan.steps.items():
        steps[name] |= _of_plan(plan, planned) | {"children": _children_of(children, name)}
        steps[name] |= {**to_builtins(waiting_at.get(name, NOTHING)), "held": held.get(name)}
        if steps[name]["max_attempts"] is None:
            steps[name]["max_attempts"] = planned.policy.policy.max_attempts
    for (_, name), ended in results.items():
        steps[name] |= {"result": ended.result, "failures": ended.failures}
    for name, fan in fans.items() if many else ():
        steps[name] |= _counted(fan, steps[name]["status"], is_open=is_open)
    return {
        "id": row["id"],
        "status": row["state"],
        "workflow": row["workflow"],
        "version": row["version"],
        "input": row["input"] or {},
        "result": row["result"],
        "failure": row["failure"],
        "key": row["submit_key"],
        "retry_of": row["retry_of"],
        "original_execution": row["original_execution"],
        "parent": _parent(row),
        "compensation": _compensation(row),
        **{name: timestamp(row[name]) for name in _TIMES},
        "now": timestamp(row["now"]),
        "last_seq": told.last_seq,
        "steps": steps,
    }


@dataclass(slots=True)
class _Folded:
    """What the events of an execution come to."""

    state: ExecutionState
    last_seq: int = 0
    holds: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The last event of each step that decided to hold something."""

    def add(self, events: Iterable[dict[str, Any]]) -> None:
        for event in events:
            apply(self.state, event)
            self.last_seq = event["seq"]
            if event["type"] in DECIDES_HOLDS:
                self.holds[event["step"]] = event


async def _fold(tx: Connection, execution_id: int, plan: Plan, *, with_items: bool) -> _Folded:
    """Folds the events of an execution, a page at a time. Those of single items of fan-outs are left out, unless they are wanted."""
    folded = _Folded(fold((), list(plan.steps)))
    if not with_items:
        folded.add(await get_step_level_events(tx, execution_id))
        return folded
    place = await find_log_place(tx, execution_id)
    while True:
        page, place = await get_events_page(tx, execution_id, place)
        if not page:
            return folded
        folded.add(page)


def _of_plan(plan: Plan, planned: PlannedStep) -> dict[str, Any]:
    step, stand_in = planned.step, planned.step.on_failure
    return {
        "type": step.type,
        "needs": list(step.needs),
        "goal": step.name in plan.goals,
        "for_each": planned.for_each is not None,
        "stand_in": None if stand_in is None else {"action": stand_in.action, "step": stand_in.step},
        "failures": None,
    }


def _children_of(family: Sequence[dict[str, Any]], step: str) -> list[dict[str, Any]]:
    return [
        {"id": c["id"], "status": c["state"], "item": c["parent_item_no"], "attempt": c["parent_attempt"]}
        for c in family
        if c["parent_step"] == step
    ]


def _counted(fan: dict[str, Any], status: str, *, is_open: bool) -> dict[str, Any]:
    """A fan-out too large to be folded from the events of its items: as its tables have it."""
    live = fan["live"]
    counts = {name: live.get(name, 0) for name in ("waiting", "queued", "accepted", "retrying", "held")}
    counts["running"] = live.get("leased", 0)
    ended = {"succeeded": fan["ended"] - fan["failed"], "failed": fan["failed"]}
    left = fan["total"] - fan["ended"] - sum(counts.values())
    over = fan["closed"] or not is_open
    stands = status if over else fan_out_status(counts) or status
    return {
        "status": stands,
        "items": {"total": fan["total"], **counts, **ended, "cancelled": left if over else 0},
    }


def _parent(row: dict[str, Any]) -> dict[str, Any] | None:
    if row["parent_id"] is None:
        return None
    return {
        "execution_id": row["parent_id"],
        "step": row["parent_step"],
        "item": row["parent_item_no"],
        "attempt": row["parent_attempt"],
    }


def _compensation(row: dict[str, Any]) -> Compensation | None:
    """While what still runs is waited for, it is under way as well."""
    return "running" if row["compensation"] == "waiting" else row["compensation"]


async def items(
    core: Core,
    execution_id: int,
    step: str,
    *,
    states: Sequence[str] | None,
    after: int,
    limit: int,
) -> list[ItemInfo]:
    """Returns the items of a fan-out, live and ended."""
    async with core.transaction() as tx:
        row = await executions.get_execution(tx, execution_id)
        if row is None:
            raise no_execution(execution_id)
        plan = await core.plans.one(tx, row["plan_id"])
        if step not in plan.steps:
            raise NotFound(f"execution {execution_id} has no step {step!r}{suggest(step, plan.steps)}")
        if plan.steps[step].for_each is None:
            raise Conflict(f"step {step} has no `for_each`: it is one item, and `tenax show` has it all")
        stored = None if states is None else ["leased" if name == "running" else name for name in states]
        found = await list_items(tx, execution_id, step, states=stored, after=after, limit=limit)
    return [
        ItemInfo(
            item=item["item_no"],
            status="running" if item["state"] == "leased" else item["state"],
            attempt=item["attempt"],
            max_attempts=item["max_attempts"] or plan.steps[step].policy.policy.max_attempts,
            result=item["result"],
            failure=item["failure"],
            available_at=timestamp(item["available_at"]),
            last_error=item["last_error"],
            lost_by=item["lost_by"],
            worker=item["worker"],
            waiting=_waiting_for(item["awaiting"], item["child"], timestamp(item["until"])),
        )
        for item in found
    ]


def _waiting_for(awaiting: str | None, child: int | None, until: str | None) -> Awaited | None:
    """Returns what an item waits for that nobody works on. None, if it waits for nothing or for a worker."""
    if awaiting is None:
        return None
    kind, _, name = awaiting.partition(":")
    match kind:
        case "sleep":
            return Awaited(kind=kind, until=until)
        case "signal":
            return Awaited(kind=kind, signal=name, deadline_at=until)
        case "child":
            return Awaited(kind=kind, child=child, deadline_at=until)
        case _:
            return Awaited(kind=kind, deadline_at=until)


async def tree(core: Core, execution_id: int) -> Tree:
    """Returns an execution with its children and theirs, level by level, as many as can be looked through."""
    async with core.transaction() as tx:
        row = await executions.get_execution(tx, execution_id)
        if row is None:
            raise no_execution(execution_id)
        children: dict[int, list[dict[str, Any]]] = {}
        totals: dict[int, int] = {}
        level, left = [execution_id], NODES_SHOWN
        while level and left > 0:
            family = await executions.get_family(tx, level, min(CHILDREN_SHOWN, left))
            totals |= {child["parent_id"]: child["n"] for child in family}
            shown, left = family[:left], max(0, left - len(family))
            for child in shown:
                children.setdefault(child["parent_id"], []).append(child)
            level = [child["id"] for child in shown]
    top = {**row, "parent_step": None, "parent_item_no": None, "parent_attempt": None}
    return _tree(top, children, totals)


def _tree(
    row: dict[str, Any], children: Mapping[int, Sequence[dict[str, Any]]], totals: Mapping[int, int]
) -> Tree:
    shown = [_tree(child, children, totals) for child in children.get(row["id"], ())]
    return Tree(
        id=row["id"],
        workflow=row["workflow"],
        status=row["state"],
        step=row["parent_step"],
        item=row["parent_item_no"],
        attempt=row["parent_attempt"],
        failure=row["failure"],
        created_at=timestamp(row["created_at"]),
        finished_at=timestamp(row["finished_at"]),
        children=shown,
        more=totals.get(row["id"], 0) - len(shown),
    )


async def list_(
    core: Core,
    *,
    states: Sequence[str] | None = None,
    workflow: str | None = None,
    since: datetime | None = None,
    before: int | None = None,
    limit: int = 50,
    top: bool = False,
    compensation: str | None = None,
) -> list[ExecutionSummary]:
    async with core.transaction() as tx:
        rows = await executions.list_executions(
            tx,
            states=states,
            workflow=workflow,
            since=since,
            before=before,
            limit=limit,
            top=top,
            compensation=compensation,
        )
        telling = [row["waiting"]["id"] for row in rows if row["waiting"] is not None]
        waiting_at = await items_waiting_at(tx, core, telling)
    return [
        ExecutionSummary(
            id=row["id"],
            workflow=row["workflow"],
            version=row["version"],
            status=row["state"],
            failure=row["failure"],
            created_at=timestamp(row["created_at"]),
            finished_at=timestamp(row["finished_at"]),
            retry_of=row["retry_of"],
            parent=row["parent_id"],
            compensation=_compensation(row),
            waiting=_telling(row["waiting"], waiting_at.get(row["id"], NOTHING)),
        )
        for row in rows
    ]


def _telling(item: dict[str, Any] | None, waits_at: Standing) -> WaitingItem | None:
    if item is None:
        return None
    return WaitingItem(
        item=item["item"],
        step=item["step"],
        state=item["state"],
        attempt=item["attempt"],
        counted=item["counted"],
        lost_by=item["lost_by"],
        awaiting=_waiting_for(item["awaiting"], item["child"], item["until"]),
        last_error=item["last_error"],
        compensates=item["compensates"],
        available_at=item["available_at"],
        max_attempts=item["max_attempts"],
        unserved=waits_at.unserved,
        limited=waits_at.limited,
    )


async def plan_id(core: Core, execution_id: int) -> int:
    async with core.transaction() as tx:
        row = await executions.get_execution(tx, execution_id)
    if row is None:
        raise no_execution(execution_id)
    return int(row["plan_id"])


async def event_pages(
    core: Core, execution_id: int, *, after: int = 0
) -> AsyncIterator[list[dict[str, Any]]]:
    """Gives the events after a sequence number as they stand now, page by page: no more than one page is in memory.

    No session is held between two pages, however slowly they are asked for.
    """
    async with core.transaction() as tx:
        place = await find_log_place(tx, execution_id, after)
        page, place = await get_events_page(tx, execution_id, place)
        await _check_known(tx, execution_id, page)
    while page:
        if wanted := [e for e in page if e["seq"] > after]:
            yield wanted
        async with core.transaction() as tx:
            page, place = await get_events_page(tx, execution_id, place)


async def events(core: Core, execution_id: int, *, after: int = 0) -> list[dict[str, Any]]:
    """The events after a sequence number, as they stand now, all of them."""
    return [e async for page in event_pages(core, execution_id, after=after) for e in page]


async def news(
    core: Core, execution_id: int, *, cursor: str | None = None, wait: float = 0.0
) -> dict[str, Any]:
    """The events since the cursor (all, without one), and the next cursor: who comes back with it misses nothing.

    With `wait`, up to so many seconds until there is one.
    """
    async with core.hub.following(execution_id) as changed:
        found, cursor = await _news(core, execution_id, cursor)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait):
                while not found and wait > 0:
                    await changed.wait()
                    changed.clear()
                    found, cursor = await _news(core, execution_id, cursor)
    return {"events": found, "cursor": cursor}


async def _news(core: Core, execution_id: int, cursor: str | None) -> tuple[list[dict[str, Any]], str]:
    async with core.transaction() as tx:
        found, cursor = await get_new_events(tx, execution_id, cursor)
        await _check_known(tx, execution_id, found)
    return found, cursor


async def _check_known(tx: Connection, execution_id: int, found: list[dict[str, Any]]) -> None:
    if not found and await executions.get_execution(tx, execution_id) is None:
        raise no_execution(execution_id)
