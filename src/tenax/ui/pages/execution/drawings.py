"""Draws an execution: the graph of its steps, its timeline, the items of its fan-outs, and its budgets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from markupsafe import Markup

from tenax.drawing.figures.heat_strip import HeatCell, draw_heat_strip
from tenax.drawing.figures.small_bars import draw_budget_bar
from tenax.drawing.graph import Drawing, DrawnStep, drawing_of
from tenax.drawing.graph_summary import MAX_STEPS, for_page
from tenax.drawing.svg import draw_graph
from tenax.drawing.timeline.execution_rows import DrawnFanOut, timeline_of
from tenax.drawing.timeline.timeline_svg import draw_timeline
from tenax.engine.engine import Engine
from tenax.errors import NotFound
from tenax.model.definition.workflow import OnFailure, Step, Workflow
from tenax.model.events.audit import AuditEntry, AuditFilter
from tenax.model.execution_views import Event, Execution, TreeBudget
from tenax.model.execution_views import Step as StepView
from tenax.model.metrics.pages import ItemStrip
from tenax.ui.pages.execution.links import drawing_link

MOST_STRIPS = 8  # fan-outs whose items are drawn; of the others the states are counted
MOST_ITEMS = 8  # items of a fan-out that have a row of their own
LARGE = 1000  # items of a fan-out of which none has a row
MOST_MARKS = 50  # actions of people in a timeline
MOST_ROWS = 40  # rows of a timeline
CELLS = 100  # ranges of items in a timeline
IN_TROUBLE = ("failed", "held", "retrying", "running")


def graph_of(execution: Execution) -> Markup:
    """Draws the graph of the steps from the execution itself, since the workflow may have changed."""
    if len(execution.steps) > MAX_STEPS:
        drawing = for_page(Drawing(execution.workflow, _bare_nodes(execution)))
    else:
        steps = tuple(_step(name, step) for name, step in execution.steps.items())
        states = {name: _state(step) for name, step in execution.steps.items()}
        drawing = drawing_of(Workflow(execution.workflow, steps), states=states)
    return _safe(draw_graph(drawing, link=drawing_link(execution.id)))


def _bare_nodes(execution: Execution) -> dict[str, DrawnStep]:
    """Returns what a summary of many steps reads of them: their layers and states."""
    layers = _layers(execution)
    return {
        name: DrawnStep(name, (), (), None, layers[name], goal=False, status=step.status)
        for name, step in execution.steps.items()
    }


def _layers(execution: Execution) -> dict[str, int]:
    """Returns the length of the longest path to each step."""
    dependents: dict[str, list[str]] = {}
    missing: dict[str, int] = {}
    for name, step in execution.steps.items():
        missing[name] = len(step.needs)
        for need in step.needs:
            dependents.setdefault(need, []).append(name)
    layers = dict.fromkeys(execution.steps, 0)
    ready = [name for name, needs in missing.items() if not needs]
    while ready:
        name = ready.pop()
        for dependent in dependents.get(name, ()):
            layers[dependent] = max(layers[dependent], layers[name] + 1)
            missing[dependent] -= 1
            if not missing[dependent]:
                ready.append(dependent)
    return layers


async def timeline(engine: Engine, execution: Execution) -> Markup:
    """Draws the execution over time, with the items of its fan-outs and what people did."""
    actions = await engine.audit(AuditFilter(kind="execution", target=str(execution.id)), limit=MOST_MARKS)
    described = timeline_of(
        execution,
        events=[_event(one) for one in reversed(actions)],
        fan_outs=await _fan_outs(engine, execution),
        max_rows=MOST_ROWS,
    )
    return _safe(draw_timeline(described, link=drawing_link(execution.id)))


async def strip_of(engine: Engine, execution_id: int, step: str) -> Markup | None:
    """Draws the items of a fan-out as a strip. Returns None if it has not started."""
    cells = await _cells(engine, execution_id, step, 200)
    if not cells:
        return None
    return _safe(draw_heat_strip(cells, step=step, link=drawing_link(execution_id), width=960))


def budget_bars(budgets: Sequence[TreeBudget]) -> list[tuple[TreeBudget, list[tuple[str, Markup]]]]:
    """Draws the budgets of the trees to which an execution belongs: a bar for each unit that is limited."""
    return [(budget, list(_bars(budget))) for budget in budgets]


def _bars(budget: TreeBudget) -> Iterator[tuple[str, Markup]]:
    if budget.cost_usd is not None:
        yield "USD", _safe(draw_budget_bar(budget.spent_usd, budget.reserved_usd, budget.cost_usd))
    if budget.tokens is not None:
        bar = draw_budget_bar(budget.spent_tokens, budget.reserved_tokens, budget.tokens, unit="tokens")
        yield "tokens", _safe(bar)


def _safe(drawing: str) -> Markup:
    return Markup(drawing)  # noqa: S704 -- drawings escape the texts in them


def _step(name: str, step: StepView) -> Step:
    kind: Any = step.type  # the plan has checked it
    action: Any = None if step.stand_in is None else step.stand_in.action
    on_failure = None if step.stand_in is None else OnFailure(action, step=step.stand_in.step)
    return Step(name, kind, {}, tuple(step.needs), on_failure=on_failure)


def _state(step: StepView) -> dict[str, Any]:
    """Returns the state of a step as the graph reads it."""
    return {
        "status": step.status,
        "attempt": step.attempt,
        "counted": step.counted,
        "max_attempts": step.max_attempts,
        "goal": step.goal,
        "for_each": step.for_each,
        "items": step.items,
        "children": [{"id": child.id, "status": child.status} for child in step.children],
        "compensation": None if step.compensation is None else {"status": step.compensation.status},
    }


def _event(entry: AuditEntry) -> Event:
    data = {"action": entry.action, "actor": entry.actor, "reason": entry.reason}
    return Event(
        id=entry.id, seq=0, type="operator_action", at=entry.at, step=entry.step, item=entry.item, attempt=None, data=data
    )  # fmt: skip


async def _fan_outs(engine: Engine, execution: Execution) -> dict[str, DrawnFanOut]:
    """Reads the items of the first fan-outs. Those that matter most have rows of their own."""
    names = [name for name, step in execution.steps.items() if step.items]
    found = {}
    for name in names[:MOST_STRIPS]:
        cells = await _cells(engine, execution.id, name, CELLS)
        if cells:
            found[name] = DrawnFanOut(cells, await _shown_items(engine, execution, name))
    return found


async def _shown_items(engine: Engine, execution: Execution, step: str) -> dict[int, Any]:
    """Returns the items that have rows of their own: none of a large fan-out, whose log is long to read."""
    counts = execution.steps[step].items or {}
    if counts.get("total", 0) > LARGE:
        return {}
    states = None if counts.get("total", 0) <= MOST_ITEMS else IN_TROUBLE
    if states is not None and not any(counts.get(state) for state in states):
        return {}
    shown = await engine.items(execution.id, step, states=states, limit=MOST_ITEMS)
    return dict(await engine.item_works(execution.id, step, [one.item for one in shown]))


async def _cells(engine: Engine, execution_id: int, step: str, ranges: int) -> list[HeatCell]:
    try:
        strip: ItemStrip = await engine.item_strip(execution_id, step, ranges=ranges)
    except NotFound:  # it has not started
        return []
    return [HeatCell(one.first, one.last, one.counts) for one in strip.ranges]
