"""Views of decisions too many to be explained together, and what an operator needs to run an execution again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tenax.engine.context import EngineContext
from tenax.engine.views.executions import plan_id
from tenax.engine.views.explanations import attempt_of, explained
from tenax.engine.views.log_pages import find_events
from tenax.model.definition.workflow import COMPENSATION, Input
from tenax.model.execution_views import Event
from tenax.model.metrics.pages import DecisionPage, ExplainedDecision
from tenax.model.views import Explanation
from tenax.policy.plan import Plan, action_of

LARGEST_PAGE = 100  # decisions of a page


async def read_decisions(
    context: EngineContext,
    execution_id: int,
    *,
    step: str | None = None,
    item: int | None = None,
    attempt: int | None = None,
    before: int | None = None,
    limit: int = 20,
) -> DecisionPage:
    """Explains the newest decisions on retries of an execution, or the next ones before an event."""
    limit = min(limit, LARGEST_PAGE)
    told: dict[tuple[Any, ...], Event] = {}

    def is_wanted(e: Event) -> bool:
        if e.data.get("failure") and e.id <= told.get(attempt_of(e), e).id:
            told[attempt_of(e)] = e
        return (
            "decision" in e.data
            and step in (None, e.step)
            and item in (None, e.item)
            and attempt in (None, e.attempt)
        )

    page = await find_events(context, execution_id, is_wanted, before=before, limit=limit)
    if page.events and attempt_of(page.events[0]) not in told:  # its failure may be on the page before
        await find_events(context, execution_id, is_wanted, before=page.events[0].id, limit=1)
    failures = {attempt: e.data["failure"] for attempt, e in told.items()}
    decisions = [
        ExplainedDecision(event=e.id, explanation=explained(e, failures)) for e in reversed(page.events)
    ]
    plan = await read_plan(context, execution_id)
    return DecisionPage(
        decisions=decisions,
        policies=_policies(plan, [one.explanation for one in decisions]),
        older=page.older,
        looked_until=page.looked_until,
    )


def _policies(plan: Plan, explanations: Sequence[Explanation]) -> dict[str, dict[str, Any]]:
    found = {}
    for one in explanations:
        if one.step is None:
            continue
        action = action_of(plan, one.step, compensates=one.compensation, policy=None)
        name = f"{COMPENSATION if one.compensation else ''}{one.step}"
        found[name] = action.policy.policy.as_dict()
    return found


async def read_inputs(context: EngineContext, execution_id: int) -> Mapping[str, Input]:
    """Returns the inputs that the workflow of an execution declares, by their names."""
    return (await read_plan(context, execution_id)).workflow.inputs


async def read_plan(context: EngineContext, execution_id: int) -> Plan:
    number = await plan_id(context, execution_id)
    async with context.view() as tx:
        return await context.plans.one(tx, number)
