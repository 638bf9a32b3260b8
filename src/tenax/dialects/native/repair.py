"""Checks the workflow that an import made, and takes out of it what has no counterpart after all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tenax.dialects.native.policy import FOREIGN, duration, policy_fields
from tenax.dialects.native.workflow import ForeignText, NativeWorkflow, Step
from tenax.errors import Finding, InvalidDefinition
from tenax.model.source.findings import NOT_YET, Path
from tenax.policy.check import load_workflow

_MOST_ROUNDS = 20
_IDLE_SECONDS = 60.0  # the timeout of a step that does nothing
_PART = re.compile(r'\[(\d+)\]|\["([^"]*)"\]|\.?([A-Za-z0-9_-]+)')
_CONDITIONS = ("retry_when", "stop_when")
_VALUES = frozenset(
    {"url", "method", "headers", "params", "json", "body", "command", "prompt", "env", "cwd", "args", "input", "for_each", "for", "at"}
)  # fmt: skip
"""The keys of steps whose values can be templates, and so inputs."""
_MAPPINGS = ("headers", "env")
"""The keys of steps whose values cannot be one template."""


def checked_text(workflow: NativeWorkflow) -> str:
    """Returns the text of a workflow that `tenax validate` accepts. Expressions that it refuses become inputs."""
    if not workflow.steps:
        _add_idle_step(workflow)
    for _ in range(_MOST_ROUNDS):
        text = workflow.text()
        findings = _faults(text)
        repaired = [_repair(workflow, finding) for finding in findings]
        if not any(repaired):
            break
    later = [finding for finding in findings if NOT_YET in finding.message]
    if len(later) < len(findings):
        remaining = [finding for finding in findings if finding not in later]
        raise InvalidDefinition([_as_ours(finding, workflow) for finding in remaining])
    for finding in later:
        workflow.notes.add("dropped", (), f"step of the result: {finding.path}: {finding.message}")
    return text


def _add_idle_step(workflow: NativeWorkflow) -> None:
    """Adds a step to a workflow whose parts do no work: without a step it would not be valid."""
    step: Step = {"step": workflow.names.fresh("nothing"), "type": "process", "command": ["true"]}
    step |= {"timeout": duration(_IDLE_SECONDS), "retry": policy_fields(FOREIGN)}
    workflow.steps.append(step)
    sentence = (
        f"nothing in the workflow `{workflow.name}` does any work: its step `{step['step']}` does nothing"
    )
    workflow.notes.add("changed", (), sentence)


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
    given = step.setdefault("input", {})
    if not isinstance(given, dict):
        return  # a template, whose value is not known here
    for name, schema in child.inputs.items():
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


def _as_ours(finding: Finding, workflow: NativeWorkflow) -> Finding:
    message = f"what it becomes is not valid: {finding.path}: {finding.message}"
    return _at_line(message, workflow, _origin(workflow, _parsed(finding.path)))


def _at_line(message: str, workflow: NativeWorkflow, origin: Path) -> Finding:
    source = workflow.notes.source
    return Finding(message, file=source.filename, line=workflow.notes.line(origin))


def _origin(workflow: NativeWorkflow, path: Path) -> Path:
    """Returns the place in the foreign file of the step that a path of the written file leads to."""
    match path:
        case ("workflow", int(number), *_) if number < len(workflow.steps):
            return workflow.origin(workflow.steps[number])
        case _:
            return ()


def _repair(workflow: NativeWorkflow, finding: Finding) -> bool:
    """Replaces the foreign value that a finding is about. Returns whether there is one that can be replaced."""
    path = _parsed(finding.path)
    if path[:1] == ("input",):
        return _loosen(workflow, path, finding)
    holder = _holder(workflow, path)
    if holder is None:
        return False
    parent, key = holder
    value = parent[key]
    if not isinstance(value, ForeignText) or key in _MAPPINGS:
        return _replace_plain(workflow, path, finding, parent, key)
    if key in _CONDITIONS and "retry" in path:
        del parent[key]
        workflow.notes.add(
            "dropped", value.origin, f"`{value.original}` has no counterpart: {finding.message}"
        )
        return True
    expression = workflow.stand_in(value, finding.message)
    parent[key] = expression if key == "when" else f"{{{{ {expression} }}}}"
    return True


def _loosen(workflow: NativeWorkflow, path: Path, finding: Finding) -> bool:
    """Lets an input take any value if its schema is not valid here, and has no default if that does not fit."""
    schema = workflow.inputs.get(str(path[1])) if len(path) > 1 else None
    if schema is None:
        return False
    kept: dict[str, Any] = {key: schema[key] for key in ("required", "default") if key in schema}
    if kept == schema:
        kept = {"required": True}
    if kept == schema:
        return False
    schema.clear()
    schema.update(kept)
    words = f"the input `{path[1]}` takes any value: its schema is not valid here ({finding.message})"
    workflow.notes.add("dropped", workflow.schemas.get(str(path[1]), ()), words)
    return True


def _replace_plain(
    workflow: NativeWorkflow, path: Path, finding: Finding, parent: Any, key: str | int
) -> bool:
    """Replaces a value that is no foreign expression: a number or a boolean by its text, another one by an input."""
    value = parent[key]
    if len(path) < 3 or path[2] not in _VALUES:
        return False
    if isinstance(value, bool | int | float):
        parent[key] = str(value).lower() if isinstance(value, bool) else str(value)
        return True
    if (value is None and isinstance(parent, dict)) or (key in _MAPPINGS and not isinstance(value, dict)):
        del parent[key]
        words = f"`{key}` is left out: {finding.message}"
        workflow.notes.add("dropped", _origin(workflow, path), words)
        return True
    if not value or _is_input(value):
        return False
    shown = value if isinstance(value, str) else "a value"
    expression = workflow.stand_in(ForeignText(shown, shown, _origin(workflow, path)), finding.message)
    parent[key] = f"{{{{ {expression} }}}}"
    return True


def _is_input(value: Any) -> bool:
    """Returns whether a value is the template of an input that stands for something already."""
    return isinstance(value, str) and value.startswith("{{ input.")


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
