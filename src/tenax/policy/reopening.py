"""Decides what starts again when an operator opens ended steps: a pure function of the plan and of the state that the events
give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tenax.model.state.execution import ExecutionState, StepState
from tenax.policy.graph import topological_order
from tenax.policy.plan import Plan

Wanted = Mapping[str, frozenset[int] | None]
"""The steps to start again. Of a fan-out, with the numbers of its items."""


class Reopening(NamedTuple):
    """Says which steps start again, wait again, or are cut off."""

    steps: dict[str, frozenset[int] | None]
    """The steps whose items are inserted again. Of a fan-out, with the ended items that start again with it."""
    pending: list[str]
    """The steps that wait for their needs again."""
    lost: dict[str, str]
    """The failed steps that stay failed, and the steps that stay unreachable, each with the failed step that is the cause."""
    cut_off: dict[str, str]
    """The steps that become unreachable, because of a failure after the execution's end. Each with that failure."""


def is_lost(step: StepState) -> bool:
    """Returns whether the step has failed, and nothing stands in for it."""
    return step.status == "failed" and step.on_failure is None


def has_begun(step: StepState) -> bool:
    """Returns whether the step was ever queued. A step whose `when` or list could not be computed was not."""
    return step.fan_out is not None or bool(step.attempt) or step.enqueued_at is not None


def lost_steps(state: ExecutionState) -> list[str]:
    """Returns the steps that have failed without anything to stand in for them."""
    return [name for name, step in state.steps.items() if is_lost(step)]


def failed_items(step: StepState) -> frozenset[int]:
    return frozenset(number for number, item in step.items.items() if item.status == "failed")


def reopening(
    plan: Plan, state: ExecutionState, wanted: Wanted, unborn: frozenset[str] = frozenset()
) -> Reopening:
    """Finds what starts again with the wanted steps. In a failed execution, whatever was cancelled with its failure does
    too. `unborn` are fan-outs that were queued, and whose items were never inserted."""
    again = dict(wanted)
    if state.status == "failed":
        for name, step in state.steps.items():
            if name not in again and _was_cut_short(step, forgiven=plan.steps[name].forgiven):
                again[name] = _with_its_items(step)
    steps = {
        name: items for name, items in again.items() if has_begun(state.steps[name]) and name not in unborn
    }
    pending = [name for name in again if name not in steps]
    lost: dict[str, str] = {}
    cut_off: dict[str, str] = {}
    for name in topological_order(plan.workflow):
        step = state.steps[name]
        if name in again:
            continue
        if is_lost(step):
            lost[name] = name
        elif step.status == "unreachable":
            cause = next((lost[need] for need in plan.steps[name].step.needs if need in lost), None)
            if cause is None:
                pending.append(name)
            else:
                lost[name] = cause
        elif step.status in ("pending", "cancelled"):
            cause = next((lost[need] for need in plan.steps[name].step.needs if need in lost), None)
            if cause is not None:
                lost[name] = cut_off[name] = cause
    return Reopening(steps, pending, lost, cut_off)


def _with_its_items(step: StepState) -> frozenset[int] | None:
    if step.fan_out is None:
        return None
    return failed_items(step) if step.status == "failed" else frozenset()


def _was_cut_short(step: StepState, *, forgiven: bool) -> bool:
    """Returns whether the step had begun, and its execution's failure has ended it, or a part of it, or has kept its
    `on_failure` from being looked at."""
    if is_lost(step) and forgiven:
        return True
    if step.fan_out is not None:
        return step.status not in ("completed", "failed")
    return step.status == "cancelled" and has_begun(step)


def lost_goal(plan: Plan, found: Reopening) -> str | None:
    """Returns the failed step for which a goal stays lost."""
    return next((found.lost[name] for name in sorted(plan.goals) if name in found.lost), None)
