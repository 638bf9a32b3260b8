"""A workflow made ready to run: policies resolved, templates and conditions compiled, the graph turned both ways."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tenax.model.definition import Step, Workflow
from tenax.model.parse import workflow_hash
from tenax.model.policy import Patch, Policy
from tenax.policy.conditions import strip_braces
from tenax.policy.expressions import Expression, compile_expression
from tenax.policy.graph import dependents_of, goals_of
from tenax.policy.resolve import CompiledPolicy, compile_policy, policy_hash, resolve_policy
from tenax.policy.templates import TEMPLATE_VARIABLES, WHEN_VARIABLES, Template, compile_template

Reads = frozenset[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A step with all that is needed to queue it, lease it and decide on it."""

    step: Step
    policy: CompiledPolicy
    policy_hash: str
    spec: Template
    reads: tuple[str, ...]
    """The steps whose results its inputs read."""
    when: Expression | None
    when_reads: tuple[str, ...]
    dependents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """What an execution refers to. Its hash covers the definition and the resolved policies."""

    workflow: Workflow
    workflow_hash: str
    hash: str
    steps: Mapping[str, PlannedStep]
    roots: tuple[str, ...]
    goals: frozenset[str]
    outputs: Template | None
    outputs_read: tuple[str, ...]

    @property
    def single(self) -> bool:
        """One step: its end is the execution's end, and no rows about the graph are kept."""
        return len(self.steps) == 1

    @property
    def policies(self) -> dict[str, str]:
        """The hash of each step's policy."""
        return {name: planned.policy_hash for name, planned in self.steps.items()}

    def policy_bodies(self) -> dict[str, dict[str, Any]]:
        return {planned.policy_hash: planned.policy.policy.as_dict() for planned in self.steps.values()}


def make_plan(workflow: Workflow, server_retry: Patch | None) -> Plan:
    """Resolves every policy: step, workflow defaults, server defaults, nearest first."""
    policies = {
        step.name: resolve_policy([step.retry, workflow.retry, server_retry]) for step in workflow.steps
    }
    return _compile(workflow, policies)


def restore_plan(workflow: Workflow, policies: Mapping[str, Policy]) -> Plan:
    """A stored plan: its policies are as they were resolved then, whatever the defaults are now."""
    return _compile(workflow, policies)


def _compile(workflow: Workflow, policies: Mapping[str, Policy]) -> Plan:
    dependents = dependents_of(workflow)
    steps = {
        step.name: _planned(step, policies[step.name], tuple(dependents[step.name]))
        for step in workflow.steps
    }
    content = workflow_hash(workflow)
    hashes = {name: planned.policy_hash for name, planned in steps.items()}
    outputs = (
        compile_template(workflow.outputs, variables=TEMPLATE_VARIABLES)
        if workflow.outputs is not None
        else None
    )
    return Plan(
        workflow=workflow,
        workflow_hash=content,
        hash=hashlib.sha256(json.dumps([content, hashes], sort_keys=True).encode()).hexdigest(),
        steps=steps,
        roots=tuple(step.name for step in workflow.steps if not step.needs),
        goals=frozenset(goals_of(workflow)),
        outputs=outputs,
        outputs_read=_steps_read(outputs.reads) if outputs is not None else (),
    )


def _planned(step: Step, policy: Policy, dependents: tuple[str, ...]) -> PlannedStep:
    spec = compile_template(dict(step.spec), variables=TEMPLATE_VARIABLES)
    when = (
        compile_expression(strip_braces(step.when), variables=WHEN_VARIABLES)
        if step.when is not None
        else None
    )
    return PlannedStep(
        step=step,
        policy=compile_policy(policy),
        policy_hash=policy_hash(policy),
        spec=spec,
        reads=_steps_read(spec.reads),
        when=when,
        when_reads=_steps_read(when.reads) if when is not None else (),
        dependents=dependents,
    )


def _steps_read(reads: Reads) -> tuple[str, ...]:
    return tuple(sorted({path[1] for path in reads if path[0] == "steps" and len(path) > 1}))
