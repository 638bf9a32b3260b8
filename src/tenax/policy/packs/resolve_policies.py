"""Resolves the policies of a workflow: the levels of each step, merged with the nearest first."""

from __future__ import annotations

from collections.abc import Generator, Mapping

from tenax.model.definition.tiers import ServerPolicy
from tenax.model.definition.workflow import COMPENSATION, Step, Workflow
from tenax.model.packs.action import BoundAction
from tenax.model.policy import Patch, Policy
from tenax.policy.retry.resolve import levels_of, resolve_policy


def resolve_policies(
    workflow: Workflow, server_retry: ServerPolicy, bound: Mapping[str, BoundAction] | None = None
) -> dict[str, Policy]:
    """Returns the policy of every action, by the name of its step."""
    policies: dict[str, Policy] = {}
    for step in workflow.steps:
        for name, action in _actions_of(step):
            policies[name] = resolve_policy(policy_levels(name, action, workflow, server_retry, bound or {}))
    return policies


def policy_levels(
    name: str,
    action: Step,
    workflow: Workflow,
    server_retry: ServerPolicy,
    bound: Mapping[str, BoundAction],
) -> list[Patch | None]:
    """Returns the levels of an action's policy, the nearest first. `name` is that of its policy in the plan."""
    of_pack = bound[name].definition.retry if name in bound else None
    return levels_of(action, workflow, server_retry, of_pack)


def resolving(
    workflow: Workflow,
    policies: Mapping[str, Policy],
    server_retry: ServerPolicy,
    bound: Mapping[str, BoundAction],
) -> Generator[None, None, dict[str, Policy]]:
    """Resolves the policies of steps with bound actions again, now with the level of the action. Yields after each, so that
    other work can run."""
    resolved = dict(policies)
    for step in workflow.steps:
        for name, action in _actions_of(step):
            if name in bound:
                levels = policy_levels(name, action, workflow, server_retry, bound)
                resolved[name] = resolve_policy(levels)
                yield
    return resolved


def _actions_of(step: Step) -> list[tuple[str, Step]]:
    own = [(step.name, step)]
    return own if step.compensate is None else [*own, (COMPENSATION + step.name, step.compensate)]
