"""Checks the workflow that an import made, and takes out of it what has no counterpart after all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tenax.dialects.native.workflow import ForeignText, NativeWorkflow, Step
from tenax.errors import Finding, InvalidDefinition
from tenax.model.source.findings import NOT_YET, Path
from tenax.policy.check import load_workflow

_MOST_ROUNDS = 20
_PART = re.compile(r'\[(\d+)\]|\["([^"]*)"\]|\.?([A-Za-z0-9_-]+)')
_CONDITIONS = ("retry_when", "stop_when")


def checked_text(workflow: NativeWorkflow) -> str:
    """Returns the text of a workflow that `tenax validate` accepts. Expressions that it refuses become inputs."""
    for _ in range(_MOST_ROUNDS):
        text = workflow.text()
        findings = _faults(text)
        repaired = [_repair(workflow, finding) for finding in findings]
        if not any(repaired):
            break
    later = [finding for finding in findings if NOT_YET in finding.message]
    if len(later) < len(findings):
        remaining = [finding for finding in findings if finding not in later]
        raise InvalidDefinition([_as_ours(finding) for finding in remaining])
    for finding in later:
        workflow.notes.add("dropped", (), f"step of the result: {finding.path}: {finding.message}")
    return text


def pass_inputs(workflows: Sequence[NativeWorkflow]) -> None:
    """Lets parents pass the inputs that stand for expressions of their children, by inputs of their own."""
    known = {workflow.name: workflow for workflow in workflows}
    for _ in workflows:
        for parent in workflows:
            for step in parent.steps:
                child = known.get(str(step.get("workflow"))) if step["type"] == "workflow" else None
                if child is not None and child is not parent:
                    _pass_inputs_to(child, parent, step)


def _pass_inputs_to(child: NativeWorkflow, parent: NativeWorkflow, step: Step) -> None:
    for name, schema in child.inputs.items():
        given = step.setdefault("input", {})
        if schema.get("required") is True and name not in given:
            own = parent.names.fresh(f"{child.name}_{name}".replace(".", "_"))
            given[name] = f"{{{{ {parent.declare(own, **schema)} }}}}"
    if step.get("input") == {}:
        del step["input"]


def _faults(text: str) -> tuple[Finding, ...]:
    try:
        load_workflow(text)
    except InvalidDefinition as error:
        return error.findings
    return ()


def _as_ours(finding: Finding) -> Finding:
    return Finding(f"the translation is not valid: {finding.message}", path=finding.path)


def _repair(workflow: NativeWorkflow, finding: Finding) -> bool:
    """Replaces the foreign expression that a finding is about. Returns whether there is one."""
    path = _parsed(finding.path)
    holder = _holder(workflow, path)
    if holder is None:
        return False
    parent, key = holder
    value = parent[key]
    if not isinstance(value, ForeignText):
        return False
    if key in _CONDITIONS and "retry" in path:
        del parent[key]
        workflow.notes.add(
            "dropped", value.origin, f"`{value.original}` has no counterpart: {finding.message}"
        )
        return True
    expression = workflow.stand_in(value, finding.message)
    parent[key] = expression if key == "when" else f"{{{{ {expression} }}}}"
    return True


def _parsed(path: str) -> Path:
    return tuple(int(index) if index else quoted or name for index, quoted, name in _PART.findall(path))


def _holder(workflow: NativeWorkflow, path: Path) -> tuple[Any, str | int] | None:
    """Returns the collection that holds the value at a path of the written file, and its key."""
    match path:
        case ("workflow", int(number), *below) if below and number < len(workflow.steps):
            at: Any = workflow.steps[number]
        case ("outputs", *below) if below and workflow.outputs is not None:
            at = workflow.outputs
        case _:
            return None
    for key in below[:-1]:
        try:
            at = at[key]
        except (KeyError, IndexError, TypeError):
            return None
    try:
        at[below[-1]]
    except (KeyError, IndexError, TypeError):
        return None
    return at, below[-1]
