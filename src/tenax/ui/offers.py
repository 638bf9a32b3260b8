"""Finds the actions that a person may carry out on an execution, a step or an item now, from the view of the execution.

The engine has the last word: it refuses what has become illegal meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tenax.model.execution_views import Execution, Step, Work
from tenax.policy.operator_actions import (
    ON_EXECUTION,
    ON_ITEM,
    REOPENING,
    legal_on_execution,
    legal_on_item,
    legal_on_step,
)

ENDED = ("completed", "failed", "cancelled")
OVER = ("completed", "failed", "skipped", "unreachable", "cancelled")
_DONE = ("completed", "failed", "skipped", "unreachable")
_ITEM_STATES = {"running": "leased"}
"""The states of items by the words of views, where these differ."""
_ANSWERS = {"approval": ("approve", "reject"), "signal": ("signal",)}


def offers(
    execution: Execution, step: str | None = None, item: int | None = None, status: str | None = None
) -> tuple[str, ...]:
    """Returns the actions that are legal now. `status` is that of the item, if one is named."""
    if step is None:
        return tuple(_on_execution(execution))
    found = execution.steps[step]
    if item is None:
        return tuple(_on_step(execution, found))
    return tuple(_on_item(execution, found, item, status or "waiting"))


def offers_by_status(status: str, *, of_step: bool = False, of_item: bool = False) -> tuple[str, ...]:
    """Returns the actions that may be legal, if nothing but the status is known."""
    if of_item:
        return legal_on_item(_ITEM_STATES.get(status, status))
    if of_step:
        return legal_on_step(status)
    actions = ("cancel", "resume" if status == "paused" else "pause") if status not in ENDED else ("again",)
    return tuple(("retry", *actions) if status == "failed" else actions)


class PersonAwaited(NamedTuple):
    """Says that a step waits for an approval, or for a signal with this name."""

    step: str
    item: int | None
    signal: str | None
    deadline_at: str | None
    actions: tuple[str, ...]


def waiting_for_people(execution: Execution) -> list[PersonAwaited]:
    """Returns the steps of an execution that wait for an approval or a signal. Of a fan-out, the item that waits first."""
    if execution.status in ENDED:
        return []
    return [
        PersonAwaited(
            name, step.waiting.get("item"), step.waiting.get("signal"), step.waiting.get("deadline_at"),
            _ANSWERS[step.waiting["for"]],
        )
        for name, step in execution.steps.items()
        if step.status == "running" and step.waiting and step.waiting.get("for") in _ANSWERS
    ]  # fmt: skip


def _on_execution(execution: Execution) -> Iterator[str]:
    if execution.status in ENDED:
        yield "again"
        if execution.compensation is None and "retry" in legal_on_execution(execution.status):
            yield from ("retry", "reset") if _can_go_on(execution) else ()
        return
    yield from ("cancel", "resume" if execution.status == "paused" else "pause")
    if execution.compensation is not None:
        if any(_waits(step.compensation) for step in execution.steps.values()):
            yield "retry"
        return
    retrying = [step for step in execution.steps.values() if "retrying" in _states(step)]
    if any(_waits(step) for step in execution.steps.values()):
        yield from ("retry", "reset")
    if len(retrying) == 1:
        yield "reschedule"
    if any(step.type == "wait" and step.status not in OVER for step in execution.steps.values()):
        yield "signal"


def _can_go_on(execution: Execution) -> bool:
    """Returns whether a failed execution has something that starts again: what has failed, or what was cut short."""
    return any(_is_lost(step) or step.status not in _DONE for step in execution.steps.values())


def _on_step(execution: Execution, step: Step) -> Iterator[str]:
    is_open = execution.status not in ENDED
    if execution.compensation is not None:
        if is_open and _waits(step.compensation):
            yield "retry"
        return
    legal = _legal_in(execution, _of_states(step))
    if step.status in ("failed", "cancelled"):
        legal = [action for action in legal if action in REOPENING and _may_start_again(execution, step)]
    yield from legal
    if is_open and step.status == "running" and step.waiting:
        yield from _ANSWERS.get(step.waiting.get("for", ""), ())


def _on_item(execution: Execution, step: Step, number: int, status: str) -> Iterator[str]:
    if execution.compensation is not None or step.status in ("completed", "skipped") or step.on_failure:
        return
    state = _ITEM_STATES.get(status, status)
    legal = _legal_in(execution, legal_on_item(state))
    if state == "cancelled" and execution.status not in ENDED:
        return
    yield from legal
    waiting = step.waiting or {}
    if execution.status not in ENDED and waiting.get("item") == number and state == "accepted":
        yield from _ANSWERS.get(waiting.get("for", ""), ())


def _legal_in(execution: Execution, actions: Iterable[str]) -> list[str]:
    return [action for action in actions if execution.status in ON_EXECUTION[action]]


def _of_states(step: Step) -> tuple[str, ...]:
    """Returns what is legal for a step: for a fan-out, what is legal for any of its items."""
    if not step.for_each or step.items is None or step.status in OVER:
        return legal_on_step(step.status)
    states = {_ITEM_STATES.get(state, state) for state in _states(step)} - {"failed", "cancelled"}
    return tuple(action for action, legal in ON_ITEM.items() if states.intersection(legal))


def _states(work: Work) -> set[str]:
    """Returns the states of a step, or of the items of its fan-out."""
    items: dict[str, int] | None = getattr(work, "items", None)
    return {state for state, count in items.items() if count} if items else {work.status}


def _waits(work: Work | None) -> bool:
    """Returns whether a retry of it waits, or is held."""
    return work is not None and bool(_states(work) & {"retrying", "held"})


def _is_lost(step: Step) -> bool:
    has_failed_items = step.items is None or bool(step.items.get("failed"))
    return step.status == "failed" and step.on_failure is None and has_failed_items


def _may_start_again(execution: Execution, step: Step) -> bool:
    if step.status == "failed":
        return _is_lost(step)
    return execution.status in ENDED and step.enqueued_at is not None
