"""The workflows that a workflow starts as children."""

from __future__ import annotations

from typing import Literal, NamedTuple

from tenax.model.definition import Workflow

ChildKind = Literal["workflow", "file"]


class ChildReference(NamedTuple):
    """A child as a step names it: a stored workflow (NAME or NAME@VERSION), or a file from the definition's folder."""

    step: str
    kind: ChildKind
    text: str


def child_references(workflow: Workflow) -> tuple[ChildReference, ...]:
    """Each step of type `workflow`, in the order of the file. Compensations cannot be workflows."""
    kinds: tuple[ChildKind, ...] = ("workflow", "file")
    return tuple(
        ChildReference(step.name, kind, step.spec[kind])
        for step in workflow.steps
        if step.type == "workflow"
        for kind in kinds
        if kind in step.spec
    )
