"""Prepares an execution of one action of a pack: a workflow of one step, whose inputs are the action's parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenax.engine.caches.named_plans import PACK, NamedPlan
from tenax.engine.context import EngineContext
from tenax.engine.definitions.reading import Definition
from tenax.engine.graph.start_execution import Start
from tenax.engine.packs.installed import find_action
from tenax.engine.packs.library import check_ref
from tenax.engine.submit.resolve_definitions import check_key, make_bound_plan
from tenax.model.packs.manifest import Manifest
from tenax.model.packs.names import is_action_ref, split_ref
from tenax.model.parse.parse import workflow_hash
from tenax.model.wire import Submission
from tenax.policy.packs.bind import workflow_of_action

_ACTION = "action:"
"""The prefix of an action among the names of plans. Names of workflows contain no colon."""


async def action_start(
    context: EngineContext, ref: str, parameters: Mapping[str, Any], key: str | None
) -> Start:
    """Prepares an execution of an action. Raises NotFound for an unknown one, and InvalidInput for parameters that do not
    fit."""
    check_ref(ref)
    check_key(Submission(workflow=ref, key=key))
    entry = await plan_of_action(context, ref)
    values = await context.reading.check(entry.plan.workflow, dict(parameters))
    return Start(entry.plan, entry.plan_id, values, key)


async def plan_of_action(context: EngineContext, ref: str) -> NamedPlan:
    """Returns the plan that runs an action of a pack as it is installed now."""
    name = _ACTION + ref
    known = await context.named_plans.find([name])
    if name in known:
        return known[name]
    manifest, action = await find_action(context, ref)
    workflow = workflow_of_action(manifest, action)
    definition = Definition(workflow, workflow_hash(workflow))
    plan = await make_bound_plan(context, definition, {}, {action.definition.name: action})
    entry = NamedPlan(plan, await context.plan_id(plan), {PACK + manifest.name: manifest.hash})
    context.named_plans.keep(name, entry)
    return entry


async def is_installed_action(context: EngineContext, ref: str) -> bool:
    """Returns whether a name is that of an action of an installed pack."""
    pack, action = split_ref(ref)
    found = await _manifests(context, ref)
    return pack in found and action in found[pack].actions


async def is_in_installed_pack(context: EngineContext, ref: str) -> bool:
    """Returns whether a name is PACK.ACTION with the name of an installed pack."""
    return bool(await _manifests(context, ref))


async def _manifests(context: EngineContext, ref: str) -> Mapping[str, Manifest]:
    """Returns the manifest of the pack that a name begins with, by the pack's name, if it is installed."""
    if not is_action_ref(ref):
        return {}
    async with context.transaction() as tx:
        return await context.manifests.find(tx, [split_ref(ref)[0]])
