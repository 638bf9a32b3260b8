"""A workflow file into a `Workflow`, with everything that is wrong in it reported at once.

Conditions and templates stay text here; `tenax.policy.check` looks into them and adds its findings to the same list.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from tenax.model.definition.workflow import Workflow
from tenax.model.inputs.inputs import Limits, check_input, read_inputs
from tenax.model.names import is_workflow_name
from tenax.model.parse.drafts import StepDefaults, StepDraft
from tenax.model.parse.fields import Fields
from tenax.model.parse.findings import Findings, Path, shorten
from tenax.model.parse.links import link_steps
from tenax.model.parse.step_keys import read_defaults, read_step
from tenax.model.parse.yaml_source import read_source

__all__ = [
    "WORKFLOW_KEYS",
    "Draft",
    "Limits",
    "check_input",
    "draft_workflow",
    "parse_workflow",
    "workflow_hash",
]

WORKFLOW_KEYS = ("name", "version", "description", "input", "defaults", "deadline", "outputs", "workflow")
_DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Draft:
    """A workflow as far as it could be read, and what is wrong with it. A second pass may add to the findings."""

    workflow: Workflow
    findings: Findings
    paths: tuple[Path, ...]
    """Where each step stands in the file."""
    linked: bool
    """All references between steps were followed, and none leads in a circle."""

    def accept(self) -> Workflow:
        """The workflow, if nothing is wrong; else InvalidDefinition with all findings."""
        self.findings.refuse()
        return self.workflow


def parse_workflow(text: str | bytes, *, filename: str | None = None) -> Workflow:
    """Read and check a definition, apart from its conditions and templates."""
    return draft_workflow(text, filename=filename).accept()


def draft_workflow(
    text: str | bytes, *, filename: str | None = None, limits: Limits = _DEFAULT_LIMITS
) -> Draft:
    """Read a definition. Raises at once only where there is nothing to look at further."""
    source = read_source(text, filename=filename)
    findings = Findings(source)
    if not isinstance(source.data, dict):
        findings.add((), "a definition is a mapping with at least `name` and `workflow`")
        findings.refuse()
    fields = Fields(source.data if isinstance(source.data, dict) else {}, (), findings)
    fields.refuse_unknown(WORKFLOW_KEYS, within="at the top of the file")
    defaults = read_defaults(Fields(fields.mapping("defaults") or {}, ("defaults",), findings))
    drafts = _without_namesakes(_read_steps(fields, defaults, limits.steps), findings)
    before = len(findings)
    steps = link_steps(drafts, findings)
    workflow = Workflow(
        name=_read_name(fields) or "",
        steps=steps,
        version=fields.label("version"),
        description=fields.text("description"),
        inputs=read_inputs(Fields(fields.mapping("input") or {}, ("input",), findings), limits),
        retry=defaults.retry,
        deadline=fields.duration("deadline"),
        outputs=fields.mapping("outputs"),
    )
    return Draft(workflow, findings, tuple(draft.path for draft in drafts), linked=len(findings) == before)


def workflow_hash(workflow: Workflow) -> str:
    """A workflow's identity: the hash of its content, whatever the order of its keys."""
    content = json.dumps(workflow.as_dict(), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(content.encode()).hexdigest()


def _read_name(fields: Fields) -> str | None:
    if "name" not in fields:
        fields.miss("name", "every workflow has a name (`name: nightly-sync`)")
    name = fields.text("name")
    if name is not None and not is_workflow_name(name):
        fields.report("name", f"`{shorten(name)}` is not a name: use up to 200 letters, digits, _, - and .")
    return name


def _read_steps(fields: Fields, defaults: StepDefaults, most: int) -> list[StepDraft]:
    if "workflow" not in fields:
        fields.miss("workflow", "the list of steps")
        return []
    listed: Any = fields.values["workflow"]
    if not isinstance(listed, list):
        fields.expect("a list of steps", "workflow")
    elif not listed:
        fields.report("workflow", "a workflow has at least one step")
    elif len(listed) > most:
        fields.report("workflow", f"{len(listed):,} steps; a workflow has at most {most:,} (`max_steps`)")
    else:
        drafts = (
            read_step(value, ("workflow", index), defaults, fields.findings)
            for index, value in enumerate(listed)
        )
        return [draft for draft in drafts if draft is not None]
    return []


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
