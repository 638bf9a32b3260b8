"""Reads what the overview of an execution shows, and the list of its steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tenax.engine.engine import Engine
from tenax.model.execution_views import Execution, Step
from tenax.model.views import Tree
from tenax.ui.pages.execution.drawings import budget_bars, graph_of, timeline
from tenax.ui.pages.execution.frame import frame
from tenax.ui.pages.execution.links import item_address, step_address
from tenax.ui.pages.execution.ticking import pieces_of

TEMPLATE = "executions/show.html"
BLOCKS = ("diagnosis", "waits", "graph", "timeline", "step_list", "budgets", "family")
STEPS_SHOWN = 30  # steps in the table of the overview
STEPS_OF_PAGE = 100
RETRIES_SHOWN = 5  # retries that count down
WAITS_SHOWN = 20
FOR_PEOPLE = ("approval", "signal")
FAMILY_SHOWN = 100  # executions of the tree
_WORST_FIRST = (
    "failed", "held", "retrying", "running", "queued", "pending", "cancelled", "unreachable", "skipped", "completed",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class NextRetry:
    step: str
    address: str
    at: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Wait:
    """Is a step or an item that waits for something outside."""

    name: str
    address: str
    waiting: Mapping[str, Any]
    child: int | None


@dataclass(frozen=True, slots=True)
class StepLine:
    """Is one step in a table."""

    name: str
    address: str
    step: Step
    error: str | None
    """The message of its failure, or of its last failed attempt."""


async def overview(engine: Engine, execution_id: int) -> dict[str, Any]:
    execution = await engine.get(execution_id)
    diagnosis = await engine.diagnose_view(execution)
    lines = step_lines(execution)
    waits = list(_waits(execution))
    retries = _retries(execution)
    if diagnosis.doors and diagnosis.doors[0].door == "due":  # the sentence itself names the first retry
        retries = retries[1:]
    return {
        **await frame(engine, execution, "Overview", diagnosis),
        "diagnosis": diagnosis,
        "sentence": pieces_of(diagnosis.sentence, diagnosis, execution),
        "retries": retries,
        "for_people": [wait for wait in waits if wait.waiting["for"] in FOR_PEOPLE][:WAITS_SHOWN],
        "waits": [wait for wait in waits if wait.waiting["for"] not in FOR_PEOPLE][:WAITS_SHOWN],
        "graph": graph_of(execution),
        "timeline": await timeline(engine, execution),
        "lines": lines[:STEPS_SHOWN],
        "step_counts": counts_of(execution),
        "budgets": budget_bars(execution.budgets),
        "family": await _family(engine, execution),
    }


async def steps_page(engine: Engine, execution_id: int, state: str | None, after: int) -> dict[str, Any]:
    """Returns a page of the steps, those in trouble first."""
    execution = await engine.get(execution_id)
    lines = step_lines(execution, state)
    end = after + STEPS_OF_PAGE
    return {
        **await frame(engine, execution),
        "lines": lines[after:end],
        "state": state,
        "after": after,
        "more": end if end < len(lines) else None,
        "found": len(lines),
        "step_counts": counts_of(execution),
    }


def step_lines(execution: Execution, state: str | None = None) -> list[StepLine]:
    """Returns the steps as a table has them: few ones in the order of the workflow, many ones with those in trouble first."""
    steps = [(name, step) for name, step in execution.steps.items() if state is None or step.status == state]
    if len(execution.steps) > STEPS_SHOWN:
        rank = {status: place for place, status in enumerate(_WORST_FIRST)}
        steps.sort(key=lambda one: rank.get(one[1].status, len(rank)))
    return [StepLine(name, step_address(execution.id, name), step, _error(step)) for name, step in steps]


def counts_of(execution: Execution) -> list[tuple[str, int]]:
    counted = Counter(step.status for step in execution.steps.values())
    return [(state, counted[state]) for state in _WORST_FIRST if counted[state]]


def _error(step: Step) -> str | None:
    last = step.attempts[-1] if step.attempts else None
    failure = (
        step.failure or (last.failure if last is not None and last.verdict != "complete" else None) or {}
    )
    text = failure.get("message") or failure.get("reason")
    return None if text is None else str(text)


def _retries(execution: Execution) -> list[NextRetry]:
    """Returns the retries that come next, the soonest first."""
    if execution.status != "running":
        return []
    found = [
        NextRetry(name, step_address(execution.id, name), step.available_at, step.attempt + 1)
        for name, step in execution.steps.items()
        if step.status == "retrying" and step.available_at is not None
    ]
    return sorted(found, key=lambda one: one.at)[:RETRIES_SHOWN]


def _waits(execution: Execution) -> Iterator[Wait]:
    for name, step in execution.steps.items():
        if step.waiting is None or step.status != "running":
            continue
        item = step.waiting.get("item")
        child = step.waiting.get("child") or next(
            (one.id for one in reversed(step.children) if one.item == item), None
        )
        if item is None:
            yield Wait(name, step_address(execution.id, name), step.waiting, child)
        else:
            yield Wait(f"{name}[{item}]", item_address(execution.id, name, item), step.waiting, child)


@dataclass(frozen=True, slots=True)
class FamilyLine:
    """Is an execution of the tree, in the order in which it is read."""

    level: int
    tree: Tree


async def _family(engine: Engine, execution: Execution) -> Sequence[FamilyLine]:
    """Returns the execution with its descendants. It is empty if it has no children."""
    if not any(step.children for step in execution.steps.values()):
        return []
    lines: list[FamilyLine] = []
    left = [FamilyLine(0, await engine.tree(execution.id))]
    while left and len(lines) < FAMILY_SHOWN:
        line = left.pop()
        lines.append(line)
        left += [FamilyLine(line.level + 1, child) for child in reversed(line.tree.children)]
    return lines
