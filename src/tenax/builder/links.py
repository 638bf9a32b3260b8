"""Adds the `needs` that follow from what the steps of a workflow read."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tenax.model.parse.parse import Draft
from tenax.policy.expressions.compiler import ExpressionError, compile_expression
from tenax.policy.expressions.conditions import CONDITION_VARIABLES, strip_braces
from tenax.policy.expressions.templates import (
    TEMPLATE_VARIABLES,
    UNTIL_VARIABLES,
    compile_template,
    expressions_in,
)
from tenax.policy.graph import Ancestry

_VARIABLES = TEMPLATE_VARIABLES | UNTIL_VARIABLES | CONDITION_VARIABLES

StepData = Mapping[str, Any]


def with_needs(steps: Sequence[StepData], draft: Draft) -> list[StepData]:
    """Returns the steps, each of which also needs the steps whose results it reads.

    `draft` is what the reader made of the steps. A step that runs before another one by `needs`, `next` or `on_failure` is not
    added. Nothing is added while `needs`, `next` or `on_failure` are wrong.
    """
    if not draft.linked:
        return list(steps)
    ancestry = Ancestry(draft.workflow)
    names = {step.name for step in draft.workflow.steps}
    return [_with_needs(step, ancestry, names) if step["step"] in names else step for step in steps]


def _with_needs(step: StepData, ancestry: Ancestry, names: set[str]) -> StepData:
    own = step["step"]
    read = {name: None for name in _steps_read(step) if name in names and name != own}
    missing = [
        name for name in read if not ancestry.runs_before(name, own) and not ancestry.runs_before(own, name)
    ]
    if not missing:
        return step
    given = step.get("needs", [])
    needs = [*(given if isinstance(given, list) else [given]), *missing]
    head = {key: step[key] for key in ("step", "type") if key in step}
    return {**head, "needs": needs if len(needs) > 1 else needs[0], **_without(step, "needs", *head)}


def _without(step: StepData, *keys: str) -> StepData:
    return {key: value for key, value in step.items() if key not in keys}


def _steps_read(step: StepData) -> Iterator[str]:
    """Yields the names of the steps that the expressions of a step read, in their order."""
    when = step.get("when")
    if isinstance(when, str):
        with contextlib.suppress(ExpressionError):  # the reader reports it
            yield from _named(compile_expression(strip_braces(when), variables=_VARIABLES).reads)
    for key, value in step.items():
        if key != "when":
            for text in _texts(value):
                yield from _steps_of_text(text)


def _steps_of_text(text: str) -> Iterator[str]:
    for part in expressions_in(text):
        with contextlib.suppress(ExpressionError):  # the reader reports it
            yield from _named(compile_template(part, variables=_VARIABLES, shell_at=()).reads)


def _named(reads: frozenset[tuple[str, ...]]) -> Iterator[str]:
    yield from (read[1] for read in sorted(reads) if read[0] == "steps" and len(read) > 1)


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str() if "{{" in value:
            yield value
        case dict():
            for part in value.values():
                yield from _texts(part)
        case list():
            for part in value:
                yield from _texts(part)
