"""Finds the steps whose first success always has the same consequence: the end of the execution, or one following step.

It is found once for a plan. Steps whose consequence may vary are not included: `advance` decides on them one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tenax.model.definition.types import SERVER_TYPES
from tenax.model.definition.workflow import Step, Workflow


class FixedSuccessor(NamedTuple):
    next: str | None
    """The step that starts. None if the execution completes."""


def find_fixed_successors(
    workflow: Workflow, dependents: Mapping[str, Sequence[str]], goals: frozenset[str]
) -> dict[str, FixedSuccessor]:
    """Returns the fixed successor by step. A step without one is left out."""
    steps = {step.name: step for step in workflow.steps}
    stand_ins = {step.on_failure.step for step in workflow.steps if step.on_failure is not None}
    found: dict[str, FixedSuccessor] = {}
    for name, step in steps.items():
        if not _is_undemanding(step) or name in stand_ins:
            continue
        behind = dependents[name]
        if not behind and goals == {name} and workflow.outputs is None:
            found[name] = FixedSuccessor(None)
        elif len(behind) == 1 and behind[0] not in stand_ins and _starts_at_once(steps[behind[0]]):
            found[name] = FixedSuccessor(behind[0])
    return found


def _is_undemanding(step: Step) -> bool:
    """Returns whether one success completes the step, it has a single item, and no item waits for its slot."""
    plain = step.for_each is None and step.until is None and step.concurrency is None
    return plain and "async" not in step.spec


def _starts_at_once(step: Step) -> bool:
    """Returns whether the step waits for nothing else, is never skipped, and has one unrestricted item."""
    plain = step.for_each is None and step.when is None and step.concurrency is None
    return plain and len(step.needs) == 1 and step.type not in SERVER_TYPES
