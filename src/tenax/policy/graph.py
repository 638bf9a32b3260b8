"""Answers questions about the graph of a workflow, each in linear time and without recursion."""

from __future__ import annotations

from collections.abc import Mapping

from tenax.model.definition.workflow import Workflow


def dependents_of(workflow: Workflow) -> dict[str, list[str]]:
    """Returns for each step the steps that need it, in the order of the file."""
    dependents: dict[str, list[str]] = {step.name: [] for step in workflow.steps}
    for step in workflow.steps:
        for need in step.needs:
            dependents[need].append(step.name)
    return dependents


def topological_order(workflow: Workflow) -> list[str]:
    """Returns every step after all steps that it needs, and otherwise in the order of the file. Raises ValueError if
    steps form a cycle."""
    dependents = dependents_of(workflow)
    waiting = {step.name: len(step.needs) for step in workflow.steps}
    order = [name for name, needs in waiting.items() if not needs]
    for name in order:
        for dependent in dependents[name]:
            waiting[dependent] -= 1
            if not waiting[dependent]:
                order.append(dependent)
    if len(order) < len(workflow.steps):
        stuck = ", ".join([name for name, needs in waiting.items() if needs][:10])
        raise ValueError(f"these steps wait for each other in a circle, or for such a step: {stuck}")
    return order


def fallbacks_of(workflow: Workflow) -> dict[str, str]:
    """Returns the fallback of each step that has one, by the name of the step. It runs if the step fails (`on_failure: {step: NAME}`)."""
    return {
        step.name: step.on_failure.step
        for step in workflow.steps
        if step.on_failure is not None and step.on_failure.step is not None
    }


def goals_of(workflow: Workflow) -> tuple[str, ...]:
    """Returns the steps marked `goal: true`. If there are none, returns the last steps, which at most their own fallback needs.

    The fallback of a goal is a goal too, because it replaces the goal.
    """
    fallbacks = fallbacks_of(workflow)
    goals = {step.name for step in workflow.steps if step.goal} or _last_steps(workflow, fallbacks)
    pending = list(goals)
    for name in pending:
        fallback = fallbacks.get(name)
        if fallback is not None and fallback not in goals:
            goals.add(fallback)
            pending.append(fallback)
    return tuple(step.name for step in workflow.steps if step.name in goals)


def _last_steps(workflow: Workflow, fallbacks: Mapping[str, str]) -> set[str]:
    needed = {need for step in workflow.steps for need in step.needs if fallbacks.get(need) != step.name}
    return {step.name for step in workflow.steps if step.name not in needed}


class Ancestry:
    """Tells for all pairs of steps which one runs before the other. It keeps one bit for each pair, since ten thousand
    steps have many pairs."""

    def __init__(self, workflow: Workflow) -> None:
        self._bit = {step.name: 1 << index for index, step in enumerate(workflow.steps)}
        needs = {step.name: step.needs for step in workflow.steps}
        self._before: dict[str, int] = {}
        for name in topological_order(workflow):
            before = 0
            for need in needs[name]:
                before |= self._before[need] | self._bit[need]
            self._before[name] = before

    def runs_before(self, earlier: str, later: str) -> bool:
        return bool(self._before[later] & self._bit[earlier])
