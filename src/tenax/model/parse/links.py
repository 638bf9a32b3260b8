"""Follows the references between the steps of a file. Every `next` and `on_failure` becomes a `needs`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from tenax.model.definition.workflow import Step
from tenax.model.parse.cycles import find_cycles, show_cycle
from tenax.model.parse.drafts import Reference, StepDraft
from tenax.model.source.findings import Findings, shorten, suggest

_Needs = dict[str, dict[str, None]]
"""The needs of each step, in a dict for its order: first its own `needs`, then the steps whose `next` names it."""


def link_steps(drafts: Sequence[StepDraft], findings: Findings) -> tuple[Step, ...]:
    """Returns the steps with all steps for which they wait. Reports unknown names and circles."""
    needs: _Needs = {draft.step.name: {} for draft in drafts}
    for draft in drafts:
        for reference in draft.needs:
            if _leads_to_other(reference, draft, needs, findings):
                needs[draft.step.name][reference.name] = None
    for draft in drafts:
        for reference in draft.next:
            if _leads_to_other(reference, draft, needs, findings):
                needs[reference.name][draft.step.name] = None
    _wait_for_fallbacks(needs, _fallbacks(drafts, needs, findings))
    ordered = {name: tuple(of_step) for name, of_step in needs.items()}
    for cycle in find_cycles(ordered):
        path = next(draft.path for draft in drafts if draft.step.name == cycle[0])
        findings.add((*path, "step"), f"the steps wait for each other in a circle: {show_cycle(cycle)}")
    return tuple(replace(draft.step, needs=ordered[draft.step.name]) for draft in drafts)


def _fallbacks(drafts: Sequence[StepDraft], known: Collection[str], findings: Findings) -> dict[str, str]:
    """Returns the fallback of each step that has one. Reports a step that is the fallback of two steps."""
    fallbacks: dict[str, str] = {}
    first: dict[str, StepDraft] = {}
    for draft in drafts:
        reference = draft.fallback
        if reference is None or not _leads_to_other(reference, draft, known, findings):
            continue
        earlier = first.setdefault(reference.name, draft)
        if earlier is draft:
            fallbacks[draft.step.name] = reference.name
            continue
        place = findings.source.place((*earlier.path, "on_failure"))
        where = f" (line {place[0]})" if place else ""
        findings.add(
            reference.path,
            f"the step `{reference.name}` is the fallback of `{earlier.step.name}` already{where}; "
            "a step can replace only one other step",
        )
    return fallbacks


def _wait_for_fallbacks(needs: _Needs, fallbacks: dict[str, str]) -> None:
    """Makes each fallback wait for the step that it replaces. A step that waits for the replaced step then waits for the fallback too."""
    for name, fallback in fallbacks.items():
        needs[fallback][name] = None
    for name, of_step in needs.items():
        pending = list(of_step)
        for need in pending:
            fallback = fallbacks.get(need, name)
            if fallback != name and fallback not in of_step:
                of_step[fallback] = None
                pending.append(fallback)


def _leads_to_other(
    reference: Reference, draft: StepDraft, known: Collection[str], findings: Findings
) -> bool:
    if reference.name == draft.step.name:
        findings.add(
            reference.path, f"the step `{reference.name}` names itself: {show_cycle([reference.name])}"
        )
        return False
    if reference.name not in known:
        findings.add(
            reference.path, f"unknown step `{shorten(reference.name)}`{suggest(reference.name, known)}"
        )
        return False
    return True
