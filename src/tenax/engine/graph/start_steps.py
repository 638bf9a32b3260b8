"""Steps whose needs are met: queued, spread out over a list, or left out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from msgspec import UNSET

from tenax.engine.graph.template_scope import load_results, scope_for
from tenax.engine.graph.turn import Failure, Turn
from tenax.engine.slices import Turns
from tenax.model.changes import StepRow
from tenax.model.events import event
from tenax.model.events.data import EnqueuedData, SkippedData, StepCompletedData, StepFailedData
from tenax.model.events.parts import ItemCounts
from tenax.model.events.types import StepCompleted, StepEnqueued, StepFailedTerminal, StepSkipped
from tenax.model.json_text import encode
from tenax.policy.expressions.compiler import EvaluationError
from tenax.policy.expressions.meter import Meter
from tenax.policy.expressions.values import as_text, truth
from tenax.policy.plan import PlannedAction, PlannedStep, action_limit_name
from tenax.policy.queued_action import SERVER_QUEUE
from tenax.store.connect import Connection
from tenax.store.journal import Journal
from tenax.store.rows import ExecutionRow, Explosion, Limits, NewItem

MOST_ITEMS = 1_000_000
"""In one fan-out."""
KEY_SHOWN = 200
"""Characters of a key of `concurrency`."""
WORK_PER_KEY = 1_000
"""Units of work that each item of a fan-out adds to what all their keys may take. `{{ item.customer }}` takes 16 and its length."""
CROWD_ITEMS = 10
CROWD_STEPS = 50
"""A fan-out of more items, or a graph of more steps, is a crowd: its items take turns with those of others."""


async def start_steps(tx: Connection, journal: Journal, turn: Turn, names: Iterable[str]) -> list[StepRow]:
    """Queues the steps whose needs are met. Those that have ended already, without an attempt, are returned."""
    ended: list[StepRow] = []
    turns = Turns()
    for name in names:
        if turns.over:
            await turns.give_way()
        try:
            over = await _start(tx, journal, turn, turn.plan.steps[name])
        except EvaluationError as error:
            over = _fail_unstarted(journal, turn, name, str(error))
        if over is not None:
            ended.append(over)
    return ended


def _fail_unstarted(journal: Journal, turn: Turn, name: str, message: str) -> StepRow:
    failure = {**template_failure(message), "attempts": 0}
    on_failure = turn.plan.steps[name].step.on_failure
    data = StepFailedData(
        attempts=0,
        final_error=message,
        reason=message,
        failure=failure,
        on_failure=on_failure.action if on_failure is not None else UNSET,
    )
    journal.log(turn.row.id, event(StepFailedTerminal, name, data=data))
    return StepRow(turn.row.id, name, "failed", failure=failure)


async def _start(tx: Connection, journal: Journal, turn: Turn, planned: PlannedStep) -> StepRow | None:
    row, name = turn.row, planned.step.name
    if planned.fallback_of is not None and not await _has_failed(tx, journal, row, planned.fallback_of):
        return _skip(journal, row, name, SkippedData(fallback_of=planned.fallback_of))
    if planned.when is not None:
        scope = await scope_for(tx, journal, row, planned.when_reads)
        with _blamed_on(f"`when` of step {name}"):
            wanted = truth(planned.when.evaluate(scope, Meter(*turn.budget)))
        if not wanted:
            return _skip(journal, row, name, SkippedData(when=planned.step.when or UNSET))
    if planned.for_each is not None:
        return await _spread(tx, journal, turn, planned)
    journal.new_items.append(await queued_item(tx, journal, turn, planned))
    journal.log(row.id, event(StepEnqueued, name))
    return None


async def queued_item(tx: Connection, journal: Journal, turn: Turn, planned: PlannedStep) -> NewItem:
    """The item of a step that is one item: with the turns it takes, and the limits it is under."""
    item = new_item(turn.row, planned)
    if item.queue != SERVER_QUEUE:
        item.lane = turn.row.lane or (turn.row.id if len(turn.plan.steps) > CROWD_STEPS else 0)
    if planned.step.concurrency is not None:
        keys = await keys_of(tx, journal, turn, planned)
        item.limits = limits_of(turn, planned, keys[0] if keys is not None else None)
    return item


def limits_of(turn: Turn, planned: PlannedStep, key: str | None = None) -> Limits | None:
    """Returns what an item of the step is limited by."""
    concurrency = planned.step.concurrency
    if concurrency is None:
        return None
    name = action_limit_name(turn.plan.workflow.name, planned.step) if concurrency.limit is not None else None
    return Limits(name, concurrency.limit, key, concurrency.key_limit)


async def keys_of(
    tx: Connection,
    journal: Journal,
    turn: Turn,
    planned: PlannedStep,
    elements: Sequence[tuple[int | None, Any]] = ((None, None),),
) -> list[str] | None:
    """What each of these items is counted by, together with others of the same key. None: nothing is."""
    template = planned.concurrency_key
    if template is None:
        return None
    scope = await scope_for(tx, journal, turn.row, planned.concurrency_reads)
    name = action_limit_name(turn.plan.workflow.name, planned.step)
    keys: list[str] = []
    most = left = turn.budget.work + WORK_PER_KEY * (len(elements) - 1)
    turns = Turns()
    with _blamed_on(f"the `key` of `concurrency` of step {planned.step.name}"):
        for index, element in elements:
            if turns.over:
                await turns.give_way()
            meter = Meter(*turn.budget)
            text = as_text(template.render({**scope, "item": element, "index": index}, meter).value)
            left -= meter.work_limit - meter.work + len(text)
            if left < 0:
                raise EvaluationError(
                    f"for {len(elements):,} items it takes more than {most:,} units of work (`expression_work`)"
                )
            keys.append(f"{name}:{_key_text(text)}")
    return keys


def _key_text(text: str) -> str:
    """Long keys are known by their hash: they are in indexes."""
    return text if len(text) <= KEY_SHOWN else hashlib.blake2b(text.encode(), digest_size=20).hexdigest()


def _skip(journal: Journal, row: ExecutionRow, name: str, why: SkippedData) -> StepRow:
    journal.log(row.id, event(StepSkipped, name, data=why))
    return StepRow(row.id, name, "skipped")


async def _has_failed(tx: Connection, journal: Journal, row: ExecutionRow, name: str) -> bool:
    found = (await load_results(tx, journal, [(row.id, name)])).get(row.id, {})
    return name in found and found[name].state == "failed"


def new_item(row: ExecutionRow, action: PlannedAction) -> NewItem:
    paused = row.state == "paused"
    return NewItem(row.id, row.plan_id, *action.queued, paused=paused, base_dir=row.base_dir)


async def _spread(tx: Connection, journal: Journal, turn: Turn, planned: PlannedStep) -> StepRow | None:
    """One item for each element of the list. An empty list is complete at once."""
    row, step = turn.row, planned.step
    elements = await list_of(tx, journal, turn, planned)
    if not elements:
        data = StepCompletedData(attempts=0, result=[], items=ItemCounts(total=0, succeeded=0, failed=0))
        journal.log(row.id, event(StepCompleted, step.name, data=data))
        return StepRow(row.id, step.name, "completed", result=[])
    total = len(elements)
    at_once = None if step.parallelism >= total else step.parallelism
    tolerated = step.tolerate.allowed(total) if step.tolerate is not None else 0
    item = spread_item(turn, planned, total)
    numbered = list(enumerate(elements)) if planned.concurrency_key is not None else ()
    keys = await keys_of(tx, journal, turn, planned, numbered)
    key_list = None if keys is None else encode(keys)
    journal.explosions.append(Explosion(item, encode(elements), at_once, tolerated, key_list))
    enqueued = EnqueuedData(items=total, parallelism=step.parallelism)
    journal.log(row.id, event(StepEnqueued, step.name, data=enqueued))
    return None


def spread_item(turn: Turn, planned: PlannedStep, total: int) -> NewItem:
    """One of the items of a fan-out, but for its element and its key."""
    item = new_item(turn.row, planned)
    if item.queue != SERVER_QUEUE and total > CROWD_ITEMS:
        item.lane = turn.row.lane or turn.row.id
    elif item.queue != SERVER_QUEUE:
        item.lane = turn.row.lane
    item.limits = limits_of(turn, planned)
    return item


async def list_of(tx: Connection, journal: Journal, turn: Turn, planned: PlannedStep) -> list[Any]:
    """The elements of a fan-out: found once, when the step starts."""
    assert planned.for_each is not None
    scope = await scope_for(tx, journal, turn.row, planned.for_each_reads)
    with _blamed_on(f"`for_each` of step {planned.step.name}"):
        elements = planned.for_each.render(scope, Meter(*turn.budget)).value
        if not isinstance(elements, list):
            raise EvaluationError(f"it must give a list, not {_kind(elements)}")
        if len(elements) > MOST_ITEMS:
            raise EvaluationError(f"the list has {len(elements):,} elements; {MOST_ITEMS:,} are allowed")
    return elements


@contextmanager
def _blamed_on(place: str) -> Iterator[None]:
    """Says where an expression stands that gives no value."""
    try:
        yield
    except EvaluationError as error:
        raise EvaluationError(f"{place}: {error}") from None


def _kind(value: Any) -> str:
    names = {dict: "a mapping", str: "text", bool: "true or false", int: "a number", float: "a number"}
    return "null" if value is None else names.get(type(value), type(value).__name__)


def template_failure(message: str) -> Failure:
    return {"class": "invalid", "reason": "template_error", "message": message}
