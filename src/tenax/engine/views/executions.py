"""Shows executions to people."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tenax.engine.context import EngineContext, unknown_execution
from tenax.engine.slices import Sliced
from tenax.engine.views.live import read_progress
from tenax.engine.views.view_room import ViewRoom
from tenax.engine.views.why_blocked import (
    DECIDES_HOLDS,
    NOTHING,
    held_steps,
    steps_waiting_at,
)
from tenax.errors import Conflict, NotFound
from tenax.model.changes import StepRow
from tenax.model.events import timestamp
from tenax.model.execution_views import (
    BudgetLimits,
    Child,
    Event,
    Execution,
    News,
    OperatorAct,
    Parent,
    StandIn,
    Step,
    TreeBudget,
    left_out,
)
from tenax.model.source.findings import suggest
from tenax.model.state.execution import ExecutionState, apply, fold
from tenax.model.state.fan_out import fan_out_status
from tenax.model.views import ItemInfo, Tree
from tenax.policy.plan import Plan, PlannedStep
from tenax.policy.retry.budgets import PLACES
from tenax.store.budgets.budgets import get_budgets
from tenax.store.connect import Connection
from tenax.store.tables import executions
from tenax.store.tables.executions import RelatedExecution, StoredExecution
from tenax.store.tables.fan_outs import FanOutItems, count_items, list_items
from tenax.store.tables.log import find_log_position, get_events_page, get_new_events, get_step_level_events
from tenax.store.tables.steps import load_within

ITEMS_FOLDED = 1000
"""Items of fan-outs up to which a view is folded from the events. Beyond that, items are counted in the tables."""
IN_PARTS = "its steps have it in parts: `tenax show`, `tenax items`, GET /v1/executions/ID/steps/STEP/items"
CHILDREN_SHOWN = 100  # children of one execution in a tree
NODES_SHOWN = 500  # executions in a tree
ACTIONS_SHOWN = 20  # operators' actions on one execution


async def get(context: EngineContext, execution_id: int) -> Execution:
    """Returns an execution with its steps, folded from its events."""
    most = context.settings.max_rendered
    async with context.view() as tx:
        row = await _known(tx, execution_id, most)
        plan = await context.plans.one(tx, row.plan_id)
        fan_outs = await count_items(tx, execution_id) if not plan.single else {}
        many = sum(fan_out.total for fan_out in fan_outs.values()) > ITEMS_FOLDED
        folded = await _fold(tx, execution_id, plan, most, with_items=not many)
        results = await load_within(tx, [(execution_id, name) for name in _in_tables(plan, fan_outs)], most)
        children = await executions.get_family(tx, [execution_id], CHILDREN_SHOWN) if plan.children else []
        waiting_at = await steps_waiting_at(tx, context.settings, execution_id) if row.open else {}
        held = await held_steps(tx, execution_id, folded.holds.values()) if row.open else {}
        budgets = await get_budgets(tx, execution_id) if row.budgeted else []
        progress = await read_progress(tx, execution_id) if row.open else []
    steps: dict[str, Step] = {}
    family = _by_step(children)
    async for name, planned in Sliced(plan.steps.items()):
        shown = folded.state.steps[name].shown()
        if (ended := results.get((execution_id, name))) is not None:
            shown |= {"result": ended.result, "failures": ended.failures, **_left_out(ended)}
        if many and name in fan_outs:
            shown |= _counted(fan_outs[name], shown["status"], is_open=row.open)
        if shown["max_attempts"] is None:
            shown["max_attempts"] = planned.policy.policy.max_attempts
        at = waiting_at.get(name, NOTHING)
        steps[name] = Step(
            **shown,
            **_of_plan(plan, planned),
            children=[_child(child) for child in family.get(name, ())],
            unserved=at.unserved,
            limited=at.limited,
            held=held.get(name),
            progress=next((one for one in progress if one.step == name), None),
        )
    return Execution(
        id=row.id,
        status=row.state,
        workflow=row.workflow,
        version=row.version,
        input=row.input or {},
        result=row.result if row.result_size is None else left_out(row.result_size, IN_PARTS),
        failure=row.failure,
        key=row.submit_key,
        retry_of=row.retry_of,
        original_execution=row.original_execution,
        retried_by=row.retried_by,
        parent=_parent(row),
        compensation=executions.compensation_shown(row.compensation),
        created_at=timestamp(row.created_at),
        starts_at=timestamp(row.starts_at),
        budgets=[
            _tree_budget(one) for one in budgets if one["cost_usd"] is not None or one["tokens"] is not None
        ],
        deadline_at=timestamp(row.deadline_at),
        finished_at=timestamp(row.finished_at),
        now=timestamp(row.now),
        operator_actions=[_operator_act(event) for event in folded.acts],
        last_seq=folded.last_seq,
        steps=steps,
    )


def _in_tables(plan: Plan, fan_outs: Mapping[str, FanOutItems]) -> list[str]:
    """Finds the steps whose results must be read from the tables: no event of a failed step has the result that its
    fallback gave it."""
    small = [step for step, fan_out in fan_outs.items() if fan_out.total <= ITEMS_FOLDED]
    return small + [name for name, step in plan.steps.items() if not step.is_final and name not in fan_outs]


def _by_step(children: Sequence[RelatedExecution]) -> dict[str | None, list[RelatedExecution]]:
    found: dict[str | None, list[RelatedExecution]] = {}
    for child in children:
        found.setdefault(child.parent_step, []).append(child)
    return found


def _left_out(step: StepRow) -> dict[str, Any]:
    """Returns a marker for each value of a step that is too large."""
    where = f"the items have it: `tenax items {step.execution_id} {step.step}`, GET /v1/executions/{step.execution_id}/steps/{step.step}/items"
    return {name: left_out(size, where) for name, size in (step.left_out or {}).items()}


async def _known(tx: Connection, execution_id: int, most: int = 0) -> StoredExecution:
    """Finds an execution. A result of more than `most` bytes is left out."""
    row = await executions.get_execution(tx, execution_id, most)
    if row is None:
        raise await unknown_execution(tx, execution_id)
    return row


@dataclass(slots=True)
class _Folded:
    """The state of an execution after the events so far."""

    state: ExecutionState
    last_seq: int = 0
    holds: dict[str | None, Event] = field(default_factory=dict)
    """The last event of each step that decided to hold an item."""
    acts: deque[Event] = field(default_factory=lambda: deque(maxlen=ACTIONS_SHOWN))
    """The last actions of operators."""

    async def add(self, events: Iterable[Event], room: ViewRoom | None = None) -> None:
        """Adds events. Their large values must fit into `room`. None means no limit, for a few events."""
        async for event in Sliced(events):
            if room is not None:
                room.fit(event)
            apply(self.state, event)
            self.last_seq = event.seq
            if event.type in DECIDES_HOLDS and "decision" in event.data:
                self.holds[event.step] = event
            elif event.type == "operator_action":
                self.acts.append(event)


async def _fold(tx: Connection, execution_id: int, plan: Plan, most: int, *, with_items: bool) -> _Folded:
    """Folds the events of an execution page by page. Events of single items of fan-outs are left out unless
    wanted. After `most` bytes, further large results and the evidence of further failures are left out too."""
    folded = _Folded(fold((), list(plan.steps)))
    if not with_items:
        await folded.add(await get_step_level_events(tx, execution_id, most))
        return folded
    position = await find_log_position(tx, execution_id)
    before = 0
    while True:
        page, position = await get_events_page(tx, execution_id, position)
        if not page:
            return folded
        await folded.add(page, None if position.size <= most else ViewRoom(max(0, most - before)))
        before = position.size


def _of_plan(plan: Plan, planned: PlannedStep) -> dict[str, Any]:
    step, stand_in = planned.step, planned.step.on_failure
    return {
        "for_each": planned.for_each is not None,
        "type": step.type,
        "needs": list(step.needs),
        "goal": step.name in plan.goals,
        "budget": None
        if step.budget is None
        else BudgetLimits(cost_usd=step.budget.cost_usd, tokens=step.budget.tokens),
        "stand_in": None if stand_in is None else StandIn(action=stand_in.action, step=stand_in.step),
    }


def _operator_act(event: Event) -> OperatorAct:
    told = event.data
    return OperatorAct(
        at=event.at,
        action=told["action"],
        actor=told["actor"],
        reason=told.get("reason"),
        step=event.step,
        item=event.item,
        because_of=told.get("because_of"),
        bulk=told.get("bulk"),
    )


def _tree_budget(row: Mapping[str, Any]) -> TreeBudget:
    left_usd, left_tokens = None, None
    if row["cost_usd"] is not None:
        left_usd = max(round(row["cost_usd"] - row["spent_usd"] - row["reserved_usd"], PLACES), 0.0)
    if row["tokens"] is not None:
        left_tokens = max(row["tokens"] - row["spent_tokens"] - row["reserved_tokens"], 0)
    return TreeBudget(
        cost_usd=row["cost_usd"],
        tokens=row["tokens"],
        tree=row["execution_id"],
        spent_usd=row["spent_usd"],
        spent_tokens=row["spent_tokens"],
        reserved_usd=row["reserved_usd"],
        reserved_tokens=row["reserved_tokens"],
        left_usd=left_usd,
        left_tokens=left_tokens,
        in_flight=row["in_flight"],
        exceeded_at=timestamp(row["exceeded_at"]),
    )


def _child(row: RelatedExecution) -> Child:
    assert row.parent_attempt is not None
    return Child(id=row.id, status=row.state, item=row.parent_item_no, attempt=row.parent_attempt)


def _counted(fan_out: FanOutItems, status: str, *, is_open: bool) -> dict[str, Any]:
    """Returns the counts of a fan-out from its tables. Such a fan-out is too large to be folded from the events of its
    items."""
    counts = {
        name: fan_out.live.get(name, 0) for name in ("waiting", "queued", "accepted", "retrying", "held")
    }
    counts["running"] = fan_out.live.get("leased", 0)
    ended = {"succeeded": fan_out.ended - fan_out.failed, "failed": fan_out.failed}
    left = fan_out.total - fan_out.ended - sum(counts.values())
    over = fan_out.closed or not is_open
    return {
        "status": status if over else fan_out_status(counts) or status,
        "items": {"total": fan_out.total, **counts, **ended, "cancelled": left if over else 0},
    }


def _parent(row: StoredExecution) -> Parent | None:
    if row.parent_id is None:
        return None
    assert row.parent_step is not None
    assert row.parent_attempt is not None
    return Parent(
        execution_id=row.parent_id,
        step=row.parent_step,
        item=row.parent_item_no,
        attempt=row.parent_attempt,
    )


async def items(
    context: EngineContext,
    execution_id: int,
    step: str,
    *,
    states: Sequence[str] | None,
    after: int,
    limit: int,
) -> list[ItemInfo]:
    """Returns the items of a fan-out, live and ended."""
    async with context.view() as tx:
        row = await _known(tx, execution_id)
        plan = await context.plans.one(tx, row.plan_id)
        if step not in plan.steps:
            raise NotFound(f"execution {execution_id} has no step {step!r}{suggest(step, plan.steps)}")
        if plan.steps[step].for_each is None:
            raise Conflict(f"step {step} has no `for_each`: it is one item, and `tenax show` has it all")
        attempts = plan.steps[step].policy.policy.max_attempts
        return await list_items(
            tx, execution_id, step, states=states, after=after, limit=limit, max_attempts=attempts,
            most=context.settings.max_rendered,
        )  # fmt: skip


async def tree(context: EngineContext, execution_id: int) -> Tree:
    """Returns an execution with its descendants, level by level, as many as fit a view."""
    async with context.view() as tx:
        row = await _known(tx, execution_id)
        children: dict[int | None, list[RelatedExecution]] = {}
        totals: dict[int | None, int] = {}
        level, left = [execution_id], NODES_SHOWN
        while level and left > 0:
            family = await executions.get_family(tx, level, min(CHILDREN_SHOWN, left))
            totals |= {child.parent_id: child.n for child in family}
            shown, left = family[:left], max(0, left - len(family))
            for child in shown:
                children.setdefault(child.parent_id, []).append(child)
            level = [child.id for child in shown]
    top = replace(row, parent_step=None, parent_item_no=None, parent_attempt=None)
    return _tree(top, children, totals)


def _tree(
    row: RelatedExecution,
    children: Mapping[int | None, Sequence[RelatedExecution]],
    totals: Mapping[int | None, int],
) -> Tree:
    shown = [_tree(child, children, totals) for child in children.get(row.id, ())]
    return Tree(
        id=row.id,
        workflow=row.workflow,
        status=row.state,
        step=row.parent_step,
        item=row.parent_item_no,
        attempt=row.parent_attempt,
        failure=row.failure,
        created_at=timestamp(row.created_at),
        finished_at=timestamp(row.finished_at),
        children=shown,
        more=totals.get(row.id, 0) - len(shown),
    )


async def plan_id(context: EngineContext, execution_id: int) -> int:
    async with context.view() as tx:
        return (await _known(tx, execution_id)).plan_id


async def event_pages(
    context: EngineContext, execution_id: int, *, after: int = 0
) -> AsyncIterator[list[Event]]:
    """Yields the events after a sequence number page by page. Only one page is in memory, and no session is held
    between two pages."""
    async with context.view() as tx:
        position = await find_log_position(tx, execution_id, after)
        page, position = await get_events_page(tx, execution_id, position)
        if not page:
            await _known(tx, execution_id)
    while page:
        if wanted := [e for e in page if e.seq > after]:
            yield wanted
        async with context.view() as tx:
            page, position = await get_events_page(tx, execution_id, position)


async def events(context: EngineContext, execution_id: int, *, after: int = 0) -> list[Event]:
    """Returns all events after a sequence number."""
    return [e async for page in event_pages(context, execution_id, after=after) for e in page]


async def news(
    context: EngineContext, execution_id: int, *, cursor: str | None = None, wait: float = 0.0
) -> News:
    """Returns the events since the cursor, and the next cursor. Without a cursor it returns all events. A caller that
    passes the cursor on misses nothing. With `wait` it waits up to so many seconds for the first event."""
    async with context.notifier.following(execution_id) as changed:
        found = await _news(context, execution_id, cursor)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait):
                while not found.events and wait > 0:
                    await changed.wait()
                    changed.clear()
                    found = await _news(context, execution_id, found.cursor)
    return found


async def _news(context: EngineContext, execution_id: int, cursor: str | None) -> News:
    async with context.view() as tx:
        found = await get_new_events(tx, execution_id, cursor)
        if not found.events:
            await _known(tx, execution_id)
    return found
