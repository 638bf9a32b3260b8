"""What a first success of a step leads to, where that is the same every time: the end of its execution, or the one step behind it.
Found once for a plan; whatever may turn out otherwise is not here, and is decided step by step (`advance`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tenax.model.definition.workflow import SERVER_TYPES, Step, Workflow


class FixedSuccessor(NamedTuple):
    next: str | None
    """The step that starts; None: the execution is complete."""


def find_fixed_successors(
    workflow: Workflow, dependents: Mapping[str, Sequence[str]], goals: frozenset[str]
) -> dict[str, FixedSuccessor]:
    """By step. One that is not here has no stride."""
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
    """A success of it is one, it is all of its step, and nobody waits for its place."""
    plain = step.for_each is None and step.until is None and step.concurrency is None
    return plain and "async" not in step.spec


def _starts_at_once(step: Step) -> bool:
    """It waits for nothing else, is never left out, and is one item like any other."""
    plain = step.for_each is None and step.when is None and step.concurrency is None
    return plain and len(step.needs) == 1 and step.type not in SERVER_TYPES
