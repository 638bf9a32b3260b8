"""Diagnoses executions, steps, items, workers and queues. It gathers the facts; `policy.diagnosis` judges them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from tenax.engine.context import EngineContext
from tenax.engine.fleet.queue_rates import with_rates
from tenax.engine.fleet.workers import get_worker, list_workers
from tenax.engine.views.executions import get, items
from tenax.engine.views.explanations import explain
from tenax.engine.views.log_pages import MOST_EVENTS, read_event_page
from tenax.errors import NotFound, UsageError
from tenax.model.diagnosis import Diagnosis
from tenax.model.events import timestamp
from tenax.model.execution_views import Execution
from tenax.model.fleet.views import Queue, Worker
from tenax.model.source.findings import suggest
from tenax.policy.diagnosis import executions as of_executions
from tenax.policy.diagnosis import fleet as of_fleet
from tenax.policy.diagnosis.executions import Pause
from tenax.policy.diagnosis.items import diagnose_item
from tenax.store import service
from tenax.store.dispatch.ready_work import ready_kinds
from tenax.store.fleet import queues, workflow_pauses

CHILDREN_FOLLOWED = 8
"""Levels of children that a diagnosis follows down to the cause."""


async def diagnose(
    context: EngineContext, execution_id: int, *, step: str | None = None, item: int | None = None
) -> Diagnosis:
    """Diagnoses an execution, one of its steps, or an item of a fan-out. If it waits for a child, the sentence continues with
    the diagnosis of the child."""
    if item is not None and step is None:
        raise UsageError("an item is one of a step: name the step as well")
    return await diagnose_view(context, await get(context, execution_id), step=step, item=item)


async def diagnose_view(
    context: EngineContext, execution: Execution, *, step: str | None = None, item: int | None = None
) -> Diagnosis:
    """Diagnoses an execution that the caller has read, as `diagnose` does."""
    found = await _diagnose(context, execution, step, item)
    sentences, last = [found.sentence], found
    while last.doors and last.doors[0].child is not None and len(sentences) <= CHILDREN_FOLLOWED:
        last = await _diagnose(context, await get(context, last.doors[0].child), None, None)
        sentences.append(last.sentence)
    if last is found:
        return found
    return replace(
        found, sentence=" ".join(sentences), next=last.next, remedies=[*last.remedies, *found.remedies]
    )


async def _diagnose(
    context: EngineContext, execution: Execution, step: str | None, item: int | None
) -> Diagnosis:
    if step is not None and step not in execution.steps:
        raise NotFound(f"execution {execution.id} has no step {step!r}{suggest(step, execution.steps)}")
    if item is not None and step is not None:
        return await _diagnose_item(context, execution, step, item)
    decisions = await _last_decisions(context, execution, _failed_step(execution) if step is None else step)
    pause = await _pause(context, execution)
    if step is None:
        return of_executions.diagnose_execution(execution, decisions, pause)
    return of_executions.diagnose_step(execution, step, decisions, pause)


async def _diagnose_item(context: EngineContext, execution: Execution, step: str, item: int) -> Diagnosis:
    found = await items(context, execution.id, step, states=None, after=item - 1, limit=1)
    if not found or found[0].item != item:
        raise NotFound(f"step {step} of execution {execution.id} has no item {item}")
    decisions: Mapping[str, Mapping[str, Any]] = {}
    if found[0].status == "failed":
        decisions = await _last_decisions(context, execution, step, item=item)
    return diagnose_item(execution, step, found[0], decisions.get(step))


def _failed_step(execution: Execution) -> str | None:
    failure = execution.failure or {}
    name = failure.get("step")
    return name if execution.status == "failed" and name in execution.steps else None


async def _last_decisions(
    context: EngineContext, execution: Execution, step: str | None, item: int | None = None
) -> Mapping[str, Mapping[str, Any]]:
    """Returns the last decision to fail a step, or one of its items, by step."""
    if step is None or (execution.steps[step].status != "failed" and item is None):
        return {}
    decision = await _recent_decision(context, execution.id, step, item)
    if decision is not None:
        return {step: decision}
    found = await explain(context, execution.id, step=step)
    wanted = [one for one in found if one.verdict == "fail" and (item is None or one.item == item)]
    return {step: wanted[-1].decision} if wanted else {}


async def _recent_decision(
    context: EngineContext, execution_id: int, step: str, item: int | None
) -> Mapping[str, Any] | None:
    """Returns the last decision to fail a step or an item if it is among the last events, where it mostly is."""
    page = await read_event_page(context, execution_id, limit=MOST_EVENTS)
    for event in reversed(page.events):
        decision = event.data.get("decision") or {}
        if event.step == step and decision.get("verdict") == "fail" and (item is None or event.item == item):
            return dict(decision)
    return None


async def _pause(context: EngineContext, execution: Execution) -> Pause | None:
    """Returns who paused a paused execution, why, and whether its workflow is paused."""
    if execution.status != "paused":
        return None
    last = next((one for one in reversed(execution.operator_actions) if one.action == "pause"), None)
    async with context.view() as tx:
        pause = (await workflow_pauses.load_pauses(tx)).get(execution.workflow)
    if last is None:
        return None
    why = f": {last.reason}" if last.reason else ""
    return Pause(f"by {last.actor}{why}", pause is not None and pause.holds)


async def diagnose_worker(context: EngineContext, name: str) -> Diagnosis:
    """Diagnoses a worker: why it gets no work."""
    worker = await get_worker(context, name)
    async with context.view() as tx:
        kinds = await ready_kinds(tx, worker.queues)
        now = timestamp(await service.now(tx))
    return of_fleet.diagnose_worker(worker, kinds, now, context.settings.lease)


class QueueInFull(NamedTuple):
    """Holds a queue, the live workers that serve it, and why it does not move."""

    queue: Queue
    serving: Sequence[Worker]
    diagnosis: Diagnosis


async def read_queue(context: EngineContext, name: str) -> QueueInFull:
    """Reads a queue with its workers, and diagnoses it."""
    async with context.view() as tx:
        known = await queues.list_queues(tx, context.settings.lease)
        state = await queues.queue_state(tx, name)
        kinds = await ready_kinds(tx, [name])
        known = await with_rates(tx, context, known)
    found = {one.queue: one for one in known}
    if name not in found:
        raise NotFound(
            f"there is no queue {name!r} with work, workers or limits{suggest(name, found)}",
            remedy="`tenax queues` lists them",
        )
    facts = of_fleet.QueueFacts(found[name], kinds, state.tokens, timestamp(state.next_at))
    live = await list_workers(context, gone=False)
    diagnosis = of_fleet.diagnose_queue(facts, live, timestamp(state.now))
    return QueueInFull(found[name], [one for one in live if name in one.queues], diagnosis)
