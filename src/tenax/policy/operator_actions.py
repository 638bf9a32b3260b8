"""Says which action of an operator is legal in which state. All refusals follow these tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, get_args

ItemAction = Literal["retry", "reset", "resolve", "complete", "fail", "reschedule"]
ExecutionAction = Literal["cancel", "pause", "resume"]
Action = ItemAction | ExecutionAction

ITEM_ACTIONS: Final[tuple[str, ...]] = get_args(ItemAction)
EXECUTION_ACTIONS: Final[tuple[str, ...]] = get_args(ExecutionAction)
ACTIONS: Final = (*ITEM_ACTIONS, *EXECUTION_ACTIONS)
NEED_REASON: Final = frozenset({"reset", "resolve", "complete", "fail"})
"""Actions that change a verdict: they need a reason."""
REOPENING: Final = frozenset({"retry", "reset", "resolve", "complete"})
"""Actions that start an ended item again."""

ENDS_ITEM: Final = frozenset({"resolve", "complete", "fail"})
"""Actions that end an open item."""
FAILED_BY_OPERATOR: Final = "failed_by_operator"
"""The reason of the failure that `fail` gives an item."""

OPEN: Final = ("waiting", "queued", "leased", "accepted", "retrying", "held")
WAITING: Final = ("retrying", "held")
ENDED_BADLY: Final = ("failed", "cancelled")
ON_EXECUTION: Final[Mapping[str, tuple[str, ...]]] = {
    "cancel": ("running", "paused"),
    "pause": ("running", "paused"),
    "resume": ("running", "paused"),
    "retry": ("running", "paused", "failed"),
    "reset": ("running", "paused", "failed"),
    "resolve": ("running", "paused", "failed"),
    "complete": ("running", "paused", "failed"),
    "fail": ("running", "paused"),
    "reschedule": ("running", "paused"),
}
"""The states of an execution in which an action on it, or on its items, is legal."""
ON_ITEM: Final[Mapping[str, tuple[str, ...]]] = {
    "retry": (*WAITING, *ENDED_BADLY),
    "reset": (*WAITING, *ENDED_BADLY),
    "resolve": (*OPEN, *ENDED_BADLY),
    "complete": (*OPEN, *ENDED_BADLY),
    "fail": OPEN,
    "reschedule": ("retrying",),
}
"""The states of a work item in which an action on it is legal. Ended items are those of a step that is started again
with them."""
ON_COMPENSATION: Final = ("retry",)
"""Actions on the work items of compensations, while they wait."""
_STATES_OF_STEP: Final[Mapping[str, tuple[str, ...]]] = {
    "queued": ("queued",),
    "running": ("leased", "accepted"),
    "retrying": ("retrying",),
    "held": ("held",),
    "failed": ("failed",),
    "cancelled": ("cancelled",),
}
"""The states that the item of a step may have while the step has this state."""


def legal_on_execution(state: str) -> tuple[str, ...]:
    """Returns the actions that are legal while an execution has this state."""
    return tuple(action for action in ACTIONS if state in ON_EXECUTION[action])


def legal_on_item(state: str) -> tuple[str, ...]:
    """Returns the actions that are legal while a work item has this state."""
    return tuple(action for action in ITEM_ACTIONS if state in ON_ITEM[action])


def legal_on_step(status: str) -> tuple[str, ...]:
    """Returns the actions that are legal while a step of one item has this status. None are legal before it begins."""
    return tuple(
        action
        for action in ITEM_ACTIONS
        if any(state in ON_ITEM[action] for state in _STATES_OF_STEP.get(status, ()))
    )


def choice_words(actions: tuple[str, ...]) -> str:
    """Returns the sentence that says what would be legal."""
    if not actions:
        return "no action on it is legal now"
    *others, last = actions
    return f"legal now: {', '.join(others)} or {last}" if others else f"legal now: {last}"
