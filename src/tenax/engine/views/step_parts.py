"""Views parts of a step: its definition, and single items of its fan-out with their attempts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from tenax.engine.context import EngineContext, no_execution
from tenax.engine.views.view_room import ViewRoom
from tenax.errors import NotFound
from tenax.model.execution_views import StepDefinition, Work
from tenax.model.source.findings import suggest
from tenax.model.state.execution import fold
from tenax.policy.plan import PlannedStep
from tenax.store.connect import Connection
from tenax.store.tables import executions
from tenax.store.tables.log import get_item_events

MOST_ITEMS = 100  # items that are read with their attempts


async def step_definition(context: EngineContext, execution_id: int, step: str) -> StepDefinition:
    """Returns the definition of a step, and its resolved retry policy."""
    async with context.view() as tx:
        planned = await _planned(context, tx, execution_id, step)
    return StepDefinition(step=planned.step, policy=planned.policy.policy)


async def item_works(
    context: EngineContext, execution_id: int, step: str, numbers: Sequence[int]
) -> Mapping[int, Work]:
    """Folds the first of these items of a fan-out from their events. Items that have not begun are left out."""
    async with context.view() as tx:
        planned = await _planned(context, tx, execution_id, step)
        events = await get_item_events(tx, execution_id, step, sorted(set(numbers))[:MOST_ITEMS])
    room = ViewRoom(context.settings.max_rendered)
    for event in events:
        room.fit(event)
    folded = fold(events, [step]).steps[step]
    most = planned.policy.policy.max_attempts
    works = {number: Work(**item.shown()) for number, item in sorted(folded.items.items())}
    return {
        number: work if work.max_attempts is not None else replace(work, max_attempts=most)
        for number, work in works.items()
    }


async def _planned(context: EngineContext, tx: Connection, execution_id: int, step: str) -> PlannedStep:
    row = await executions.get_execution(tx, execution_id)
    if row is None:
        raise no_execution(execution_id)
    plan = await context.plans.one(tx, row.plan_id)
    if step not in plan.steps:
        raise NotFound(f"execution {execution_id} has no step {step!r}{suggest(step, plan.steps)}")
    return plan.steps[step]
