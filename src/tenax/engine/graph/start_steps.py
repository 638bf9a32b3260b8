"""Starts steps whose needs are met: queues them, fans them out over a list, or skips them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from msgspec import UNSET

from tenax.engine.graph.execution_update import ExecutionUpdate, Failure
from tenax.engine.graph.template_scope import load_results, scope_for
from tenax.engine.slices import TimeSlice
from tenax.model.changes import StepRow
from tenax.model.events import event
from tenax.model.events.data import EnqueuedData, SkippedData, StepCompletedData, StepFailedData
from tenax.model.events.parts import ItemCounts
from tenax.model.events.types import StepCompleted, StepEnqueued, StepFailedTerminal, StepSkipped
from tenax.model.json_text import encode
from tenax.policy.expressions.compiler import EvaluationError
from tenax.policy.expressions.meter import Meter
from tenax.policy.expressions.values import as_text, truth_value
from tenax.policy.plan import PlannedAction, PlannedStep, action_limit_name
from tenax.policy.queued_action import BUDGET_QUEUE, SERVER_QUEUE
from tenax.store.connect import Connection
from tenax.store.journal import Journal
from tenax.store.rows import ExecutionRow, ItemLimits, NewFanOut, NewItem

MOST_ITEMS = 1_000_000
"""Items of one fan-out."""
LONGEST_PLAIN_KEY = 200
"""Characters up to which a key of `concurrency` is stored as it is. A longer one is stored as a hash."""
WORK_PER_KEY = 1_000
"""Units of work that each item of a fan-out adds to the budget of all their keys. `{{ item.customer }}` takes 16 and
its length."""
TURN_TAKING_ITEMS = 10
TURN_TAKING_STEPS = 50
"""Items of a fan-out, or steps of a graph, above which it takes turns with those of other executions."""


async def start_steps(
    tx: Connection, journal: Journal, update: ExecutionUpdate, names: Iterable[str]
) -> list[StepRow]:
    """Queues the steps whose needs are met. Returns the steps that have ended already, without an attempt."""
    ended: list[StepRow] = []
    time_slice = TimeSlice()
    for name in names:
        if time_slice.is_over:
            await time_slice.give_way()
        try:
            over = await _start(tx, journal, update, update.plan.steps[name])
        except EvaluationError as error:
            over = _fail_unstarted(journal, update, name, str(error))
        if over is not None:
            ended.append(over)
    return ended


def _fail_unstarted(journal: Journal, update: ExecutionUpdate, name: str, message: str) -> StepRow:
    failure = {**template_failure(message), "attempts": 0}
    on_failure = update.plan.steps[name].step.on_failure
    data = StepFailedData(
        attempts=0,
        final_error=message,
        reason=message,
        failure=failure,
        on_failure=on_failure.action if on_failure is not None else UNSET,
    )
    journal.log(update.row.id, event(StepFailedTerminal, name, data=data))
    return StepRow(update.row.id, name, "failed", failure=failure)


async def _start(
    tx: Connection, journal: Journal, update: ExecutionUpdate, planned: PlannedStep
) -> StepRow | None:
    row, name = update.row, planned.step.name
    if planned.fallback_of is not None and not await _has_failed(tx, journal, row, planned.fallback_of):
        return _skip(journal, row, name, SkippedData(fallback_of=planned.fallback_of))
    if planned.when is not None:
        scope = await scope_for(tx, journal, row, planned.when_reads)
        with _blamed_on(f"`when` of step {name}"):
            wanted = truth_value(planned.when.evaluate(scope, Meter(*update.budget)))
        if not wanted:
            return _skip(journal, row, name, SkippedData(when=planned.step.when or UNSET))
    if planned.for_each is not None:
        return await _start_fan_out(tx, journal, update, planned)
    journal.new_items.append(await queued_item(tx, journal, update, planned))
    journal.log(row.id, event(StepEnqueued, name))
    return None


async def queued_item(
    tx: Connection, journal: Journal, update: ExecutionUpdate, planned: PlannedStep
) -> NewItem:
    """Returns the item of a step without `for_each`, with its lane and its limits."""
    item = _admitted_later(new_item(update.row, planned), update.row)
    if item.queue != SERVER_QUEUE:
        item.lane = update.row.lane or (update.row.id if len(update.plan.steps) > TURN_TAKING_STEPS else 0)
    if planned.step.concurrency is not None:
        keys = await concurrency_keys_of(tx, journal, update, planned)
        item.limits = limits_of(update, planned, keys[0] if keys is not None else None)
    return item


def limits_of(update: ExecutionUpdate, planned: PlannedStep, key: str | None = None) -> ItemLimits | None:
    """Returns the limits of an item of the step."""
    concurrency = planned.step.concurrency
    if concurrency is None:
        return None
    name = (
        action_limit_name(update.plan.workflow.name, planned.step) if concurrency.limit is not None else None
    )
    return ItemLimits(name, concurrency.limit, key, concurrency.key_limit)


async def concurrency_keys_of(
    tx: Connection,
    journal: Journal,
    update: ExecutionUpdate,
    planned: PlannedStep,
    elements: Sequence[tuple[int | None, Any]] = ((None, None),),
) -> list[str] | None:
    """Returns the concurrency key of each item. Returns None if the step has none."""
    template = planned.concurrency_key
    if template is None:
        return None
    scope = await scope_for(tx, journal, update.row, planned.concurrency_reads)
    name = action_limit_name(update.plan.workflow.name, planned.step)
    keys: list[str] = []
    most = left = update.budget.work + WORK_PER_KEY * (len(elements) - 1)
    time_slice = TimeSlice()
    with _blamed_on(f"the `key` of `concurrency` of step {planned.step.name}"):
        for index, element in elements:
            if time_slice.is_over:
                await time_slice.give_way()
            meter = Meter(*update.budget)
            text = as_text(template.render({**scope, "item": element, "index": index}, meter).value)
            left -= meter.work_limit - meter.work + len(text)
            if left < 0:
                raise EvaluationError(
                    f"for {len(elements):,} items it takes more than {most:,} units of work (`expression_work`)"
                )
            keys.append(f"{name}:{_key_text(text)}")
    return keys


def _key_text(text: str) -> str:
    """Returns a key as it is stored. A long key is replaced by its hash, because keys are in indexes."""
    return (
        text if len(text) <= LONGEST_PLAIN_KEY else hashlib.blake2b(text.encode(), digest_size=20).hexdigest()
    )


def _skip(journal: Journal, row: ExecutionRow, name: str, why: SkippedData) -> StepRow:
    journal.log(row.id, event(StepSkipped, name, data=why))
    return StepRow(row.id, name, "skipped")


async def _has_failed(tx: Connection, journal: Journal, row: ExecutionRow, name: str) -> bool:
    found = (await load_results(tx, journal, [(row.id, name)])).get(row.id, {})
    return name in found and found[name].state == "failed"


def new_item(row: ExecutionRow, action: PlannedAction) -> NewItem:
    paused = row.state == "paused"
    return NewItem(row.id, row.plan_id, *action.queued, paused=paused, base_dir=row.base_dir)


def _admitted_later(item: NewItem, row: ExecutionRow) -> NewItem:
    """Lets an item of a tree with a budget wait until the budget can pay its first attempt."""
    if row.budgeted and item.queue != SERVER_QUEUE:
        item.queue = BUDGET_QUEUE
    return item


async def _start_fan_out(
    tx: Connection, journal: Journal, update: ExecutionUpdate, planned: PlannedStep
) -> StepRow | None:
    """Inserts an item for each element of the list. A step with an empty list completes at once."""
    row, step = update.row, planned.step
    elements = await list_of(tx, journal, update, planned)
    if not elements:
        data = StepCompletedData(attempts=0, result=[], items=ItemCounts(total=0, succeeded=0, failed=0))
        journal.log(row.id, event(StepCompleted, step.name, data=data))
        return StepRow(row.id, step.name, "completed", result=[])
    total = len(elements)
    at_once = None if step.parallelism >= total else step.parallelism
    tolerated = step.tolerate.allowed(total) if step.tolerate is not None else 0
    item = fan_out_item(update, planned, total)
    numbered = list(enumerate(elements)) if planned.concurrency_key is not None else ()
    keys = await concurrency_keys_of(tx, journal, update, planned, numbered)
    key_list = None if keys is None else encode(keys)
    journal.new_fan_outs.append(NewFanOut(item, encode(elements), at_once, tolerated, key_list))
    enqueued = EnqueuedData(items=total, parallelism=step.parallelism)
    journal.log(row.id, event(StepEnqueued, step.name, data=enqueued))
    return None


def fan_out_item(update: ExecutionUpdate, planned: PlannedStep, total: int) -> NewItem:
    """Returns an item of a fan-out, without its element and its key."""
    item = _admitted_later(new_item(update.row, planned), update.row)
    if item.queue != SERVER_QUEUE and total > TURN_TAKING_ITEMS:
        item.lane = update.row.lane or update.row.id
    elif item.queue != SERVER_QUEUE:
        item.lane = update.row.lane
    item.limits = limits_of(update, planned)
    return item


async def list_of(
    tx: Connection, journal: Journal, update: ExecutionUpdate, planned: PlannedStep
) -> list[Any]:
    """Returns the elements of a fan-out. They are computed once, when the step starts."""
    assert planned.for_each is not None
    scope = await scope_for(tx, journal, update.row, planned.for_each_reads)
    with _blamed_on(f"`for_each` of step {planned.step.name}"):
        elements = planned.for_each.render(scope, Meter(*update.budget)).value
        if not isinstance(elements, list):
            raise EvaluationError(f"it must give a list, not {_kind(elements)}")
        if len(elements) > MOST_ITEMS:
            raise EvaluationError(f"the list has {len(elements):,} elements; {MOST_ITEMS:,} are allowed")
    return elements


@contextmanager
def _blamed_on(place: str) -> Iterator[None]:
    """Names the place of an expression that could not be computed."""
    try:
        yield
    except EvaluationError as error:
        raise EvaluationError(f"{place}: {error}") from None


def _kind(value: Any) -> str:
    names = {dict: "a mapping", str: "text", bool: "true or false", int: "a number", float: "a number"}
    return "null" if value is None else names.get(type(value), type(value).__name__)


def template_failure(message: str) -> Failure:
    return {"class": "invalid", "reason": "template_error", "message": message}
