"""Reads a workflow file as a `Workflow`, and reports all mistakes at once.

Conditions and templates stay text here. `tenax.policy.check` reads them and adds its findings to the same list.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tenax.model.definition.workflow import Workflow
from tenax.model.inputs.inputs import (
    DefinitionLimits,
    check_input,
    find_misfits,
    is_checked_shortly,
    read_inputs,
)
from tenax.model.parse.drafts import StepDefaults, StepDraft
from tenax.model.parse.keys.schedule_keys import schedule_of
from tenax.model.parse.links import link_steps
from tenax.model.parse.shape import read_mapping
from tenax.model.parse.steps import read_budget, read_defaults, read_step
from tenax.model.parse.workflow_file import WorkflowFile
from tenax.model.source.findings import Findings, Path
from tenax.model.source.yaml_source import read_source

__all__ = [
    "DefinitionLimits",
    "Draft",
    "check_input",
    "draft_workflow",
    "parse_workflow",
    "workflow_hash",
]

_DEFAULT_LIMITS = DefinitionLimits()


@dataclass(frozen=True, slots=True)
class Draft:
    """Holds a workflow as far as it could be read, with the findings. A later check may add findings."""

    workflow: Workflow
    findings: Findings
    paths: tuple[Path, ...]
    """The path of each step in the file."""
    linked: bool
    """True if all references between steps are valid and form no circle."""

    def accept(self) -> Workflow:
        """Returns the workflow if nothing is wrong. Otherwise raises InvalidDefinition with all findings."""
        self.findings.raise_if_any()
        return self.workflow


def parse_workflow(text: str | bytes, *, filename: str | None = None) -> Workflow:
    """Reads and checks a definition, except for its conditions and templates."""
    return draft_workflow(text, filename=filename).accept()


def draft_workflow(
    text: str | bytes, *, filename: str | None = None, limits: DefinitionLimits = _DEFAULT_LIMITS
) -> Draft:
    """Reads a definition. Raises an error only if nothing of it can be read further. Other mistakes are findings."""
    source = read_source(text, filename=filename)
    findings = Findings(source)
    if not isinstance(source.data, dict):
        findings.add((), "a definition is a mapping with at least `name` and `workflow`")
        findings.raise_if_any()
    data: dict[str, Any] = source.data if isinstance(source.data, dict) else {}
    top, wrong = read_mapping(WorkflowFile, data, (), findings)
    defaults = read_defaults(top.given().get("defaults", {}), findings)
    listed = top.workflow if "workflow" not in wrong else []
    drafts = _without_namesakes(_read_steps(listed, defaults, limits.steps, findings), findings)
    before = len(findings)
    steps = link_steps(drafts, findings)
    workflow = Workflow(
        name=top.name,
        steps=steps,
        version=top.version,
        description=top.description,
        inputs=read_inputs(top.input, findings, limits),
        retry=defaults.retry,
        deadline=top.deadline,
        outputs=top.outputs,
        budget=read_budget(top.budget),
        schedule=schedule_of(top.schedule) if top.schedule is not None else None,
    )
    _check_schedule(workflow, findings)
    return Draft(workflow, findings, tuple(draft.path for draft in drafts), linked=len(findings) == before)


def workflow_hash(workflow: Workflow) -> str:
    """Returns the identity of a workflow: the hash of its content. The order of keys does not matter."""
    content = json.dumps(workflow.as_dict(), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(content.encode()).hexdigest()


def _check_schedule(workflow: Workflow, findings: Findings) -> None:
    """Reports inputs of the schedule that do not fit. A check that may take long is left to the server."""
    if workflow.schedule is None:
        return
    given = workflow.schedule.input
    if is_checked_shortly(workflow.inputs, given):
        for misfit in find_misfits(workflow.inputs, given, "workflow", "input"):
            findings.add(("schedule", "input"), misfit)


def _read_steps(
    listed: Sequence[Any], defaults: StepDefaults, most: int, findings: Findings
) -> list[StepDraft]:
    if len(listed) > most:
        message = f"{len(listed):,} steps; a workflow has at most {most:,} (`max_steps`)"
        findings.add(("workflow",), message)
        return []
    drafts = (read_step(value, ("workflow", index), defaults, findings) for index, value in enumerate(listed))
    return [draft for draft in drafts if draft is not None]


def _without_namesakes(drafts: list[StepDraft], findings: Findings) -> list[StepDraft]:
    first: dict[str, StepDraft] = {}
    for draft in drafts:
        known = first.setdefault(draft.step.name, draft)
        if known is not draft:
            place = findings.source.place((*known.path, "step"))
            where = f" (line {place[0]})" if place else ""
            findings.add(
                (*draft.path, "step"), f"the name `{draft.step.name}` is taken by an earlier step{where}"
            )
    return list(first.values())
