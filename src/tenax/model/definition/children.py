"""Finds the workflows that a workflow starts as children."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from tenax.model.definition.workflow import Step, Workflow
from tenax.model.source.findings import shorten, suggest

ChildKind = Literal["workflow", "file"]


class ChildReference(NamedTuple):
    """Holds a child as a step names it: a stored workflow (NAME or NAME@VERSION), or a file relative to the definition's folder."""

    step: str
    kind: ChildKind
    text: str


def child_references(workflow: Workflow) -> tuple[ChildReference, ...]:
    """Returns the child of each step of type `workflow`, in the order of the file. Compensations cannot be workflows."""
    kinds: tuple[ChildKind, ...] = ("workflow", "file")
    return tuple(
        ChildReference(step.name, kind, step.spec[kind])
        for step in workflow.steps
        if step.type == "workflow"
        for kind in kinds
        if kind in step.spec
    )


def input_problems(step: Step, child: Workflow) -> list[str]:
    """Returns the missing and the unknown names in the `input` of a workflow step. An `input` that is a template is not checked."""
    given = step.spec.get("input") or {}
    if not isinstance(given, Mapping):
        return []
    unknown = [
        f"{shorten(name)}: workflow `{child.name}` has no such input{suggest(name, list(child.inputs))}"
        for name in given
        if name not in child.inputs
    ]
    if isinstance(step.retry, Mapping) and "vary" in step.retry:
        return unknown  # `vary` may give the missing inputs
    missing = [
        f"{name}: workflow `{child.name}` requires it, and it is not given"
        for name, declared in child.inputs.items()
        if declared.required and name not in given
    ]
    return unknown + missing
