"""Makes plans. A plan is a workflow that is ready to run: its policies are resolved, its expressions compiled, and its graph indexed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from tenax.model.definition.tiers import ServerPolicy
from tenax.model.definition.types import SERVER_TYPES
from tenax.model.definition.vary import merge_override
from tenax.model.definition.workflow import COMPENSATION, Budget, Step, Workflow
from tenax.model.packs.action import BoundAction
from tenax.model.parse.parse import workflow_hash
from tenax.model.policy import Policy
from tenax.policy.expressions.compiler import Expression, compile_expression
from tenax.policy.expressions.conditions import compile_condition, strip_braces
from tenax.policy.expressions.templates import (
    SHELL_TEXT,
    TEMPLATE_VARIABLES,
    WHEN_VARIABLES,
    Known,
    Template,
    compile_expressions,
    compile_template,
)
from tenax.policy.fixed_successor import FixedSuccessor, find_fixed_successors
from tenax.policy.graph import dependents_of, fallbacks_of, goals_of
from tenax.policy.packs.bind import bind_step
from tenax.policy.packs.resolve_policies import resolve_policies
from tenax.policy.queued_action import QueuedAction, queued_action
from tenax.policy.retry.resolve import CompiledPolicy, compile_policy, policy_hash
from tenax.policy.retry.until import CompiledUntil, compile_until
from tenax.policy.retry.vary import overrides_of

Reads = frozenset[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class PlannedAction:
    """Holds the action of a work item, with everything needed to queue it, lease it and decide on it."""

    step: Step
    policy: CompiledPolicy
    policy_hash: str
    specs: tuple[Template, ...]
    """The inputs, followed by those of each entry of `vary`."""
    reads: tuple[str, ...]
    """The steps whose results its inputs read."""
    reads_input: bool
    until: CompiledUntil | None
    queued: QueuedAction
    """The action's columns of a new item."""
    succeeds_plainly: bool
    """True if a first success leaves nothing to decide: there is no `until` and no budget."""

    @property
    def budget(self) -> Budget | None:
        return self.step.budget


@dataclass(frozen=True, slots=True)
class PlannedStep(PlannedAction):
    """Holds a step with everything needed to start it and to advance from it."""

    when: Expression | None
    when_reads: tuple[str, ...]
    dependents: tuple[str, ...]
    for_each: Template | None
    for_each_reads: tuple[str, ...]
    fallback_of: str | None
    """The step that this one replaces. It runs only if that step fails."""
    value: Template | None
    """The value that replaces its result if it fails."""
    value_reads: tuple[str, ...]
    concurrency_key: Template | None
    """The key of `concurrency` that items are counted by. It is computed for each item when it is queued."""
    concurrency_reads: tuple[str, ...]
    compensation: PlannedAction | None

    @property
    def is_final(self) -> bool:
        """Returns whether the result stays as it is when the step has ended, because no fallback replaces it."""
        return self.step.on_failure is None or self.step.on_failure.step is None

    @property
    def forgiven(self) -> bool:
        """Returns whether the steps that depend on this step go on after its failure."""
        return self.step.on_failure is not None


@dataclass(frozen=True, slots=True)
class PlannedChild:
    """Holds the plan of a child workflow, resolved when its parent was submitted."""

    plan_id: int
    hash: str
    folder: str | None = None
    """The folder of its file, relative to that of its parent."""
    packs: tuple[str, ...] = ()
    """The contents of packs that it and its own children use."""

    def as_dict(self) -> dict[str, Any]:
        body = {"plan_id": self.plan_id, "hash": self.hash, "folder": self.folder}
        return body | ({"packs": list(self.packs)} if self.packs else {})

    @classmethod
    def from_dict(cls, body: Mapping[str, Any]) -> PlannedChild:
        return cls(**{**body, "packs": tuple(body.get("packs", ()))})


@dataclass(frozen=True, slots=True)
class Plan:
    """Is the plan of an execution. Its hash covers the definition and the resolved policies."""

    workflow: Workflow
    workflow_hash: str
    hash: str
    steps: Mapping[str, PlannedStep]
    roots: tuple[str, ...]
    goals: frozenset[str]
    results: tuple[str, ...]
    """The goals in the execution's result. A fallback is not listed beside the step that it replaces."""
    outputs: Template | None
    outputs_read: tuple[str, ...]
    compensated: tuple[str, ...]
    """The steps that have a compensation."""
    single: bool
    """True if the workflow is one plain step. The end of the step is then the end of the execution, and the graph needs no rows."""
    fixed_successors: Mapping[str, FixedSuccessor] = field(default_factory=dict)
    """The steps whose first success always has the same consequence, each with the step that follows."""
    begins_plainly: bool = False
    """True if the first steps can be queued without computing a condition, a list or a key for them."""
    has_server_steps: bool = False
    has_fan_outs: bool = False
    soonest: float | None = None
    """Seconds until the first limit of a new execution may expire: its deadline, or a time in the queue."""
    children: Mapping[str, PlannedChild] = field(default_factory=dict)
    bound: Mapping[str, BoundAction] = field(default_factory=dict)
    """The actions of packs that its steps and compensations run, by the names of their policies."""

    @property
    def packs(self) -> tuple[str, ...]:
        """Returns the contents of packs that the plan and its children use."""
        own = {action.hash for action in self.bound.values()}
        return tuple(sorted(own.union(*(child.packs for child in self.children.values()))))

    def action(self, step: str, *, compensates: bool) -> PlannedAction:
        """Returns the action of an item: that of the step, or its compensation."""
        planned = self.steps[step]
        if not compensates:
            return planned
        assert planned.compensation is not None
        return planned.compensation

    @property
    def actions(self) -> dict[str, PlannedAction]:
        """Yields every action with the name of its policy."""
        return _actions(self.steps)

    @property
    def policies(self) -> dict[str, str]:
        """Returns the hash of each action's policy."""
        return {name: action.policy_hash for name, action in self.actions.items()}

    def policy_bodies(self) -> dict[str, dict[str, Any]]:
        return {action.policy_hash: action.policy.policy.as_dict() for action in self.actions.values()}


def action_of(plan: Plan, step: str, *, compensates: bool, policy: str | None) -> PlannedAction:
    """Returns the action of an item. `policy` is the one that an operator gave it."""
    action = plan.action(step, compensates=compensates)
    return action if policy is None else replace(action, policy=_own_policy(policy))


@lru_cache(maxsize=1024)
def _own_policy(text: str) -> CompiledPolicy:
    return compile_policy(Policy.from_dict(json.loads(text)))


def _actions(steps: Mapping[str, PlannedStep]) -> dict[str, PlannedAction]:
    undoing = {
        COMPENSATION + name: planned.compensation
        for name, planned in steps.items()
        if planned.compensation is not None
    }
    return {**steps, **undoing}


def action_limit_name(workflow: str, step: Step) -> str:
    """Returns the name under which `concurrency` counts a step's items: the action that it names, or
    the step itself."""
    if step.concurrency is not None and step.concurrency.action is not None:
        return f"action:{step.concurrency.action}"
    return f"step:{workflow}/{step.name}"


def make_plan(
    workflow: Workflow,
    server_retry: ServerPolicy,
    children: Mapping[str, PlannedChild] | None = None,
    bound: Mapping[str, BoundAction] | None = None,
) -> Plan:
    """Resolves every policy: step, action, tier, workflow defaults, server defaults, nearest first."""
    policies = resolve_policies(workflow, server_retry, bound)
    return _run_through(planning(workflow, policies, children, bound=bound))


def restore_plan(
    workflow: Workflow,
    policies: Mapping[str, Policy],
    children: Mapping[str, PlannedChild] | None = None,
    bound: Mapping[str, BoundAction] | None = None,
) -> Plan:
    """Restores a stored plan. Its policies, children and actions stay as they were resolved then, whatever the
    defaults are now."""
    return _run_through(planning(workflow, policies, children, bound=bound))


def _run_through(planning: Generator[None, None, Plan]) -> Plan:
    while True:
        try:
            next(planning)
        except StopIteration as ended:
            plan: Plan = ended.value
            return plan


def planning(
    workflow: Workflow,
    policies: Mapping[str, Policy],
    children: Mapping[str, PlannedChild] | None = None,
    content: str | None = None,
    bound: Mapping[str, BoundAction] | None = None,
) -> Generator[None, None, Plan]:
    """Makes a plan, and yields after every small part of it: a definition may have thousands of steps. `content` is the
    hash of the workflow, if it is known. `bound` has the actions of packs."""
    dependents, children, bound = dependents_of(workflow), children or {}, bound or {}
    stands_in_for = {fallback: step for step, fallback in fallbacks_of(workflow).items()}
    known: Known = {}
    steps: dict[str, PlannedStep] = {}
    yield
    for step in workflow.steps:
        behind, instead_of = tuple(dependents[step.name]), stands_in_for.get(step.name)
        runs = _bind(step, bound) if bound else step
        steps[step.name] = yield from _planned(runs, policies, behind, instead_of, known)
    content = content or workflow_hash(workflow)
    yield
    identity: list[Any] = [content, {name: action.policy_hash for name, action in _actions(steps).items()}]
    if children:
        identity.append({step: [child.hash, child.folder] for step, child in children.items()})
    if bound:
        identity.append({name: [action.hash, action.ref] for name, action in bound.items()})
    identity_hash = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
    yield
    goals = frozenset(goals_of(workflow))
    outputs = (
        compile_template(workflow.outputs, variables=TEMPLATE_VARIABLES)
        if workflow.outputs is not None
        else None
    )
    yield
    fixed_successors = find_fixed_successors(workflow, dependents, goals)
    yield
    return Plan(
        workflow=workflow,
        workflow_hash=content,
        hash=identity_hash,
        steps=steps,
        roots=tuple(step.name for step in workflow.steps if not step.needs),
        goals=goals,
        results=tuple(sorted(name for name in goals if stands_in_for.get(name) not in goals)),
        outputs=outputs,
        outputs_read=_steps_read(outputs.reads) if outputs is not None else (),
        compensated=tuple(step.name for step in workflow.steps if step.compensate is not None),
        single=len(steps) == 1 and _is_plain(workflow.steps[0]),
        fixed_successors=fixed_successors,
        begins_plainly=workflow.budget is None
        and all(_is_queued_at_once(step) for step in steps.values() if not step.step.needs),
        has_server_steps=any(step.type in SERVER_TYPES for step in workflow.steps),
        has_fan_outs=any(step.for_each is not None for step in workflow.steps),
        soonest=min(
            (t for t in (workflow.deadline, *(s.queue_ttl for s in workflow.steps)) if t is not None),
            default=None,
        ),
        children=children,
        bound=bound,
    )


def _bind(step: Step, bound: Mapping[str, BoundAction]) -> Step:
    runs = bind_step(step, bound.get(step.name))
    undoing = bound.get(COMPENSATION + step.name)
    if undoing is None or runs.compensate is None:
        return runs
    return replace(runs, compensate=bind_step(runs.compensate, undoing))


def _is_queued_at_once(step: PlannedStep) -> bool:
    conditions = (step.fallback_of, step.when, step.for_each, step.concurrency_key)
    return all(condition is None for condition in conditions)


def _is_plain(step: Step) -> bool:
    return step.for_each is None and step.on_failure is None and step.compensate is None


def _planned(
    step: Step,
    policies: Mapping[str, Policy],
    dependents: tuple[str, ...],
    fallback_of: str | None,
    known: Known,
) -> Generator[None, None, PlannedStep]:
    action = yield from _action(step, policies[step.name], known)
    undoing = None
    if step.compensate is not None:
        undoing = yield from _action(step.compensate, policies[COMPENSATION + step.name], known)
    when = (
        compile_expression(strip_braces(step.when), variables=WHEN_VARIABLES)
        if step.when is not None
        else None
    )
    for_each = _template(step.for_each)
    failed = step.on_failure
    value = _template(failed.value) if failed is not None and failed.action == "value" else None
    key = _template(step.concurrency.key) if step.concurrency is not None and step.concurrency.key else None
    return PlannedStep(
        step=step,
        policy=action.policy,
        policy_hash=action.policy_hash,
        specs=action.specs,
        reads=action.reads,
        reads_input=action.reads_input,
        until=action.until,
        queued=action.queued,
        succeeds_plainly=action.succeeds_plainly,
        when=when,
        when_reads=_steps_read(when.reads) if when is not None else (),
        dependents=dependents,
        for_each=for_each if step.for_each is not None else None,
        for_each_reads=_steps_read(for_each.reads),
        fallback_of=fallback_of,
        value=value,
        value_reads=_steps_read(value.reads) if value is not None else (),
        concurrency_key=key,
        concurrency_reads=_steps_read(key.reads) if key is not None else (),
        compensation=undoing,
    )


def _action(step: Step, policy: Policy, known: Known) -> Generator[None, None, PlannedAction]:
    for condition in (policy.retry_when, policy.stop_when, *(rule.when for rule in policy.rules)):
        if condition is not None:
            compile_condition(condition)
            yield
    spec = dict(step.spec)
    varied = (merge_override(spec, changes) for changes in overrides_of(policy))
    made: list[Template] = []
    for one in (spec, *varied):
        yield from compile_expressions(one, variables=TEMPLATE_VARIABLES, known=known)
        made.append(_spec_template(step.type, one, known))
    specs = tuple(made)
    reads: Reads = frozenset().union(*(template.reads for template in specs))
    return PlannedAction(
        step=step,
        policy=compile_policy(policy),
        policy_hash=policy_hash(policy),
        specs=specs,
        reads=_steps_read(reads),
        reads_input=any(path[0] == "input" for path in reads),
        until=compile_until(step.until) if step.until is not None else None,
        queued=queued_action(step, policy),
        succeeds_plainly=step.until is None and step.budget is None,
    )


def _spec_template(step_type: str, spec: dict[str, Any], known: Known) -> Template:
    shell_at = SHELL_TEXT.get(step_type)
    return compile_template(spec, variables=TEMPLATE_VARIABLES, shell_at=shell_at, known=known)


def _template(value: Any) -> Template:
    return compile_template(value, variables=TEMPLATE_VARIABLES)


def _steps_read(reads: Reads) -> tuple[str, ...]:
    return tuple(sorted({path[1] for path in reads if path[0] == "steps" and len(path) > 1}))
