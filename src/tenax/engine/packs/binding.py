"""Binds the steps of a workflow to the actions of packs, as they are installed when the workflow is submitted."""

from __future__ import annotations

from collections.abc import MutableMapping

from tenax.engine.caches.named_plans import PACK, Stamp
from tenax.engine.context import EngineContext
from tenax.engine.packs.installed import bind
from tenax.errors import InvalidInput, NotFound
from tenax.model.definition.workflow import Workflow
from tenax.model.packs.action import BoundAction
from tenax.model.packs.names import split_ref
from tenax.policy.packs.bind import ActionReference, action_references, parameter_problems
from tenax.store.tables import packs


async def bind_actions(
    context: EngineContext, workflow: Workflow, rests_on: MutableMapping[str, Stamp]
) -> dict[str, BoundAction]:
    """Returns the actions that a workflow names, by the names of their policies. Adds its packs to `rests_on`.

    Raises NotFound for an unknown action, and InvalidInput for parameters that do not fit.
    """
    references = list(action_references(workflow))
    if not references:
        return {}
    names = {split_ref(one.ref)[0] for one in references}
    async with context.transaction() as tx:
        found = await context.manifests.find(tx, names)
        others = [] if len(found) == len(names) else await packs.list_names(tx)
    rests_on.update({PACK + name: manifest.hash for name, manifest in found.items()})
    bound: dict[str, BoundAction] = {}
    for one in references:
        try:
            _, bound[one.place] = bind(one.ref, found, others)
        except NotFound as error:
            raise NotFound(f"{_words(workflow, one)}: {error.message}", remedy=error.remedy) from None
        if problems := parameter_problems(one.step, bound[one.place]):
            raise InvalidInput(f"{_words(workflow, one)}: `params`: {'; '.join(problems)}")
    return bound


def _words(workflow: Workflow, reference: ActionReference) -> str:
    return f"step {reference.step.name} of workflow {workflow.name}"
