"""Definitions that were read from their source: the same source is read once, while it is in memory."""

from __future__ import annotations

from dataclasses import dataclass

from tenax.engine.weighted import BYTES_OF_PLAN, BYTES_OF_STEP, Weighted, weight_of_plan
from tenax.model.children import child_references
from tenax.model.definition import Workflow
from tenax.model.policy import Patch
from tenax.policy.check import load_workflow
from tenax.policy.plan import Plan, make_plan


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition, with its plan where that needs nothing but the definition: most have no children."""

    workflow: Workflow
    plan: Plan | None = None


class Definitions:
    """Keeps the definitions that were last read, up to so many bytes by an estimate."""

    def __init__(self, most: int) -> None:
        self._kept: Weighted[tuple[str, str | None], tuple[Definition, int]] = Weighted(most, _weight)

    def read(self, source: str, filename: str | None, server_retry: Patch | None) -> Definition:
        """Reads and checks a definition. `server_retry` is the same for all definitions of a server."""
        kept = self._kept.use((source, filename))
        if kept is not None:
            return kept[0]
        definition = _read(source, filename, server_retry)
        self._kept.keep((source, filename), (definition, len(source)))
        return definition

    @property
    def weight(self) -> int:
        return self._kept.weight


def _read(source: str, filename: str | None, server_retry: Patch | None) -> Definition:
    workflow = load_workflow(source, filename=filename, server_retry=server_retry)
    if child_references(workflow):
        return Definition(workflow)
    return Definition(workflow, make_plan(workflow, server_retry))


def _weight(kept: tuple[Definition, int]) -> int:
    definition, size = kept
    if definition.plan is not None:
        return size + weight_of_plan(definition.plan)
    return 5 * size + BYTES_OF_PLAN + BYTES_OF_STEP * len(definition.workflow.steps)
