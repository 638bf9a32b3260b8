"""Binds steps to the actions that they name: pure, from the step and the action to the step that runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from tenax.model.definition.workflow import COMPENSATION, DEFAULT_TIMEOUT, Step, Workflow
from tenax.model.inputs.inputs import find_misfits, is_checked_shortly
from tenax.model.packs.action import BoundAction
from tenax.model.packs.manifest import Manifest


class ActionReference(NamedTuple):
    """Is a step's reference to an action. `place` is the name of the step's policy in the plan."""

    place: str
    step: Step
    ref: str


def action_references(workflow: Workflow) -> Iterator[ActionReference]:
    """Yields the actions that steps and compensations name."""
    for step in workflow.steps:
        if step.type == "action":
            yield ActionReference(step.name, step, step.spec["action"])
        if step.compensate is not None and step.compensate.type == "action":
            yield ActionReference(COMPENSATION + step.name, step.compensate, step.compensate.spec["action"])


def bind_step(step: Step, action: BoundAction | None) -> Step:
    """Returns the step as it runs: with the descriptor of its action and the action's timeout. Without an action, returns it as
    it is."""
    if action is None:
        return step
    own = action.definition.timeout
    timeout = own if own is not None and step.timeout_inherited else step.timeout
    return replace(
        step, spec={**step.spec, "pack": action.descriptor}, timeout=timeout, timeout_inherited=False
    )


def parameter_problems(step: Step, action: BoundAction) -> list[str]:
    """Returns the faults of those parameters of a step that are known before it runs."""
    given = step.spec["params"]
    if not isinstance(given, Mapping):
        return []
    declared = action.definition.parameters
    known = {name: value for name, value in given.items() if not _has_template(value)}
    if not is_checked_shortly(declared, known):
        return []  # the worker checks them
    varies = isinstance(step.retry, Mapping) and "vary" in step.retry
    # A parameter with a template is there, but its value is not known.
    stand_for = {
        name: one if name in known or (name not in given and not varies) else replace(one, required=False)
        for name, one in declared.items()
    }
    unknown = {name: value for name, value in given.items() if name not in declared}
    return find_misfits(stand_for, {**known, **unknown}, "action", "parameter")


def workflow_of_action(manifest: Manifest, action: BoundAction) -> Workflow:
    """Returns the workflow that runs one action on its own. Its inputs are the action's parameters."""
    step = Step(
        name=action.definition.name,
        type="action",
        spec={"action": action.ref, "params": "{{ input }}"},
        timeout=DEFAULT_TIMEOUT,
        timeout_inherited=True,
    )
    return Workflow(
        name=action.ref,
        steps=(step,),
        version=manifest.version,
        description=action.definition.description,
        inputs=action.definition.parameters,
    )


def _has_template(value: Any) -> bool:
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, str) and "{{" in part:
            return True
        if isinstance(part, Mapping):
            pending += part.values()
        elif isinstance(part, list):
            pending += part
    return False
