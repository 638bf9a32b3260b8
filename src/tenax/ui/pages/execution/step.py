"""Reads what the page of one step shows: its state, its policy, its attempts, and the items of its fan-out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tenax.drawing.policy_words import policy_words
from tenax.engine.engine import Engine
from tenax.errors import NotFound
from tenax.model.definition.workflow import Step as Definition
from tenax.model.durations import format_duration
from tenax.model.execution_views import Execution, Step, StepCompensation, StepDefinition
from tenax.model.policy import Policy, rule_as_dict
from tenax.model.source.findings import suggest
from tenax.ui.pages.execution.attempt_rows import AttemptPage, page_of, rows_of
from tenax.ui.pages.execution.drawings import strip_of
from tenax.ui.pages.execution.frame import frame
from tenax.ui.pages.execution.links import items_address
from tenax.ui.pages.execution.ticking import pieces_of

STEP = "executions/step.html"
STEP_BLOCKS = ("step_state", "step_items", "step_attempts", "step_result")
ITEMS = "executions/items.html"
ITEM = "executions/item.html"
ITEM_BLOCKS = ("item_state", "item_attempts")
ITEMS_OF_PAGE = 50


async def step_view(engine: Engine, execution_id: int, name: str, before: int | None) -> dict[str, Any]:
    execution, step = await _read(engine, execution_id, name)
    undoing = step.compensation
    diagnosis = await engine.diagnose_view(execution, step=name)
    return {
        **await frame(engine, execution),
        "name": name,
        "step": step,
        "diagnosis": diagnosis,
        "sentence": pieces_of(diagnosis.sentence, diagnosis, execution),
        "definition": definition_facts(await engine.step_definition(execution_id, name)),
        "attempts": page_of(list(rows_of(step, execution_id, name)), before),
        "undone": None if undoing is None else _undone(undoing, execution_id, name),
        "strip": await strip_of(engine, execution_id, name) if step.items else None,
        "states": states_of(execution_id, name, step.items or {}),
    }


def _undone(undoing: StepCompensation, execution_id: int, name: str) -> AttemptPage:
    """Returns the last attempts of a compensation. The others are on the page of all attempts."""
    page = page_of(list(rows_of(undoing, execution_id, name, part="compensation")), None)
    return replace(page, older=None)


async def items_view(
    engine: Engine, execution_id: int, name: str, state: str | None, after: int
) -> dict[str, Any]:
    execution, step = await _read(engine, execution_id, name)
    found = await engine.items(
        execution_id, name, states=None if state is None else [state], after=after, limit=ITEMS_OF_PAGE + 1
    )
    return {
        **await frame(engine, execution),
        "name": name,
        "step": step,
        "strip": await strip_of(engine, execution_id, name),
        "states": states_of(execution_id, name, step.items or {}),
        "state": state,
        "after": after,
        "items": found[:ITEMS_OF_PAGE],
        "more": found[ITEMS_OF_PAGE - 1].item if len(found) > ITEMS_OF_PAGE else None,
    }


async def item_view(
    engine: Engine, execution_id: int, name: str, item: int, before: int | None
) -> dict[str, Any]:
    execution, step = await _read(engine, execution_id, name)
    found = await engine.items(execution_id, name, states=None, after=item - 1, limit=1)
    if not found or found[0].item != item:
        raise NotFound(f"step {name} of execution {execution_id} has no item {item}")
    work = (await engine.item_works(execution_id, name, [item])).get(item)
    rows = [] if work is None else list(rows_of(work, execution_id, name, item=item))
    return {
        **await frame(engine, execution),
        "name": name,
        "step": step,
        "item": found[0],
        "attempts": page_of(rows, before),
        "children": [child for child in step.children if child.item == item],
    }


async def _read(engine: Engine, execution_id: int, name: str) -> tuple[Execution, Step]:
    execution = await engine.get(execution_id)
    if name not in execution.steps:
        raise NotFound(f"execution {execution_id} has no step {name!r}{suggest(name, execution.steps)}")
    return execution, execution.steps[name]


def states_of(execution_id: int, name: str, counts: Mapping[str, int]) -> list[tuple[str, int, str]]:
    """Returns the states of items that occur, with their numbers and the addresses of their lists."""
    return [
        (state, count, items_address(execution_id, name, state=state))
        for state, count in counts.items()
        if state != "total" and count
    ]


def definition_facts(found: StepDefinition) -> dict[str, Any]:
    """Returns what the workflow says of a step: facts in words, its spec, and its whole policy."""
    policy = found.policy
    return {
        "policy": policy_words(policy),
        "facts": [*_work_facts(found.step), *_policy_facts(policy)],
        "spec": dict(found.step.spec),
        "rules": [rule_as_dict(rule) for rule in policy.rules],
        "vary": list(policy.vary),
    }


def _work_facts(step: Definition) -> Iterator[tuple[str, str]]:
    yield "Type", step.type
    if step.timeout is not None:
        yield "Timeout", format_duration(step.timeout)
    yield "Queue", f"{step.queue}, priority {step.priority}"
    if step.queue_ttl is not None:
        yield "Queue limit", format_duration(step.queue_ttl)
    if step.labels:
        yield "Labels", ", ".join(f"{name}={value}" for name, value in step.labels.items())
    if step.when is not None:
        yield "When", step.when
    if step.for_each is not None:
        yield "At once", f"{step.parallelism:,} items"
    if step.until is not None:
        yield "Until", step.until.condition
    if step.compensate is not None:
        yield "Undone by", step.compensate.type


def _policy_facts(policy: Policy) -> Iterator[tuple[str, str]]:
    """Yields the parts of the policy that its line of words leaves out."""
    for name, value in (
        ("Retry when", policy.retry_when),
        ("Stop when", policy.stop_when),
        ("Retry on", ", ".join(policy.retry_on)),
        ("Never on", ", ".join(policy.never_on)),
    ):
        if value:
            yield name, value
    if policy.infra_attempts and policy.max_attempts is not None and policy.retryable:
        yield "Not counted", f"up to {policy.infra_attempts} attempts lost to the infrastructure"
    if policy.attempt_cost is not None:
        yield "Attempt cost", f"${policy.attempt_cost:g}"
