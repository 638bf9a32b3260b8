"""Finds what an operator's action is applied to: work items that are open, and steps that have ended and start again.

An action that is legal on none of them is refused, with the reason and with what would be legal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tenax.engine.operate.operator_action import ActionRequest
from tenax.errors import Conflict, NotFound, UsageError
from tenax.model.source.findings import suggest
from tenax.model.state.execution import ExecutionState, StepState
from tenax.policy.operator_actions import (
    ON_COMPENSATION,
    ON_EXECUTION,
    ON_ITEM,
    REOPENING,
    choice_words,
    legal_on_execution,
    legal_on_item,
    legal_on_step,
)
from tenax.policy.plan import Plan
from tenax.policy.reopening import failed_items, is_lost, lost_steps
from tenax.store.rows import ExecutionRow, OperatedItem


@dataclass(frozen=True, slots=True)
class Targets:
    """Names what an action is applied to."""

    items: list[OperatedItem] = field(default_factory=list)
    """Open work items."""
    reopened: dict[str, frozenset[int] | None] = field(default_factory=dict)
    """Ended steps that start again. Of a fan-out, with the numbers of its items."""


def check_execution(row: ExecutionRow, asked: ActionRequest, *, deactivated: bool) -> None:
    """Refuses an action on an execution that can no longer, or not yet, be acted on."""
    if deactivated:
        raise Conflict(
            f"execution {row.id} is deactivated: nothing of it can act any more", remedy=_anew(row.id)
        )
    if row.state not in ON_EXECUTION[asked.action]:
        legal = legal_on_execution(row.state)
        if row.state == "failed" and row.compensation is None and asked.action == "fail":
            raise Conflict(f"execution {row.id} has failed already; {choice_words(legal)}")
        raise Conflict(
            f"execution {row.id} is {row.state}: {asked.action} is not legal in this state; {choice_words(legal)}",
            remedy=_anew(row.id),
        )
    if row.compensation is not None and not (row.open and asked.action in ON_COMPENSATION):
        raise cannot_go_on(row)


def cannot_go_on(row: ExecutionRow) -> Conflict:
    """Returns the error for an execution that cannot start again because it compensates, or has compensated."""
    words = "its compensations have begun" if row.open else "what it had done was undone by compensations"
    return Conflict(
        f"execution {row.id} has failed, and {words}: it cannot go on from there", remedy=_anew(row.id)
    )


def _anew(execution_id: int) -> str:
    return f"run all of it as a new execution: `tenax retry {execution_id} --new`"


def find_open_targets(
    row: ExecutionRow, plan: Plan, asked: ActionRequest, items: Sequence[OperatedItem]
) -> list[OperatedItem]:
    """Returns the open items that the action is legal for."""
    check_place(plan, asked)
    found = [item for item in items if item.state in ON_ITEM[asked.action] and not item.compensates]
    if asked.action in ON_COMPENSATION:
        found += [item for item in items if item.state in ("retrying", "held") and item.compensates]
    if asked.step is None and asked.action not in ("retry", "reset"):
        _refuse_several(row, asked, {item.step for item in found})
    return found


def find_ended_targets(
    row: ExecutionRow, asked: ActionRequest, state: ExecutionState
) -> dict[str, frozenset[int] | None]:
    """Returns the ended steps that the action starts again."""
    if asked.step is None:
        names = lost_steps(state) if not row.open else []
        if asked.action not in ("retry", "reset"):
            _refuse_several(row, asked, set(names))
        return {name: _items_of(state.steps[name]) for name in names}
    step = state.steps[asked.step]
    if asked.action not in REOPENING or not _may_start_again(row, step, asked):
        return {}
    if step.fan_out is None:
        return {asked.step: None}
    failed = failed_items(step)
    if asked.numbers:
        may = all(_may_item_start_again(step, number) for number in asked.numbers)
        return {asked.step: asked.numbers & failed} if may else {}
    return {asked.step: failed if step.status == "failed" else frozenset()}


def _may_item_start_again(step: StepState, number: int) -> bool:
    """Returns whether an item exists and has not succeeded. Items that were never started go on with the fan-out."""
    assert step.fan_out is not None
    item = step.items.get(number)
    return 0 <= number < step.fan_out.total and (item is None or item.status != "succeeded")


def was_cut_short(row: ExecutionRow, plan: Plan, asked: ActionRequest, state: ExecutionState) -> bool:
    """Returns whether a failed execution can go on although none of its steps has failed, because its deadline has ended it."""
    if row.open or asked.step is not None or asked.action not in ("retry", "reset"):
        return False
    over = all(
        step.status in ("completed", "failed", "skipped", "unreachable") for step in state.steps.values()
    )
    return not over or plan.outputs is None


def _items_of(step: StepState) -> frozenset[int] | None:
    return None if step.fan_out is None else failed_items(step)


def _may_start_again(row: ExecutionRow, step: StepState, asked: ActionRequest) -> bool:
    if is_lost(step):
        return step.fan_out is None or bool(failed_items(step))
    if step.fan_out is not None and step.status in ("queued", "running", "retrying", "held"):
        return not row.open or bool(asked.numbers & failed_items(step))
    return not row.open and step.status == "cancelled" and step.enqueued_at is not None


def check_place(plan: Plan, asked: ActionRequest) -> None:
    """Refuses a step that the plan does not have, and the number of an item where there are none."""
    if asked.step is None:
        return
    if asked.step not in plan.steps:
        raise NotFound(f"there is no step {asked.step!r}{suggest(asked.step, plan.steps)}")
    if asked.item is not None and plan.steps[asked.step].for_each is None:
        raise UsageError(f"step {asked.step} has no `for_each`: it is one item, so leave `item` out")


def _refuse_several(row: ExecutionRow, asked: ActionRequest, steps: set[str]) -> None:
    if len(steps) > 1:
        names = ", ".join(sorted(steps)[:20])
        raise UsageError(
            f"{asked.action} is for one step, and execution {row.id} has several for which it is legal: {names}",
            remedy="name the `step`",
        )


def nothing_to_do(row: ExecutionRow, asked: ActionRequest, state: ExecutionState) -> Conflict:
    """Returns the error for an action that is legal for no work of the execution in its present state."""
    if asked.step is None:
        lost = lost_steps(state)
        remedy = "`tenax show` says what the execution does now"
        if row.open and lost and asked.action in REOPENING:
            remedy = f"{', '.join(lost)} failed: name the `step` to start it again"
        what = {"retry": "waits for a retry", "reset": "waits for a retry"}.get(
            asked.action, f"{asked.action} is legal for"
        )
        if row.open:
            return Conflict(f"execution {row.id} has no step that {what}", remedy=remedy)
        return Conflict(
            f"execution {row.id} has failed, and no step of it has: there is nothing to start again",
            remedy=_anew(row.id),
        )
    step = state.steps[asked.step]
    status, legal = step.status, legal_on_step(step.status)
    where = f"step {asked.step} of execution {row.id}"
    if asked.item is not None:
        item = step.items.get(asked.item)
        if step.fan_out is not None and not 0 <= asked.item < step.fan_out.total:
            return Conflict(
                f"{where} has {step.fan_out.total} items, numbered from 0, and no item {asked.item}"
            )
        status = item.status if item is not None else "waiting"
        legal = legal_on_item({"running": "leased"}.get(status, status))
        where = f"item {asked.item} of {where}"
        if step.status in ("completed", "skipped"):
            legal = ()
    if step.on_failure is not None:
        return Conflict(
            f"{where} has failed, and its `on_failure` stands in for it: what follows has gone on without it",
            remedy=_anew(row.id),
        )
    if step.fan_out is not None and step.status == "failed" and asked.item is None:
        return Conflict(
            f"{where} has failed, and none of its items has: there is nothing to start again",
            remedy=_anew(row.id),
        )
    which = "" if asked.item is None else f" --item {asked.item}"
    return Conflict(
        f"{where} is {status}: {asked.action} is not legal in this state; {choice_words(legal)}",
        remedy=f"`tenax explain {row.id} --step {asked.step}{which}` says why it is so",
    )
