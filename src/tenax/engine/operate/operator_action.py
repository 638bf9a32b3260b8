"""Describes a requested action, and refuses requests that are wrong whatever the state of the execution."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tenax.errors import UsageError
from tenax.model.json_text import encode
from tenax.model.source.findings import shorten, suggest
from tenax.policy.operator_actions import ACTIONS, EXECUTION_ACTIONS, NEED_REASON

MAX_POLICY = 8_000  # characters of the policy that `reschedule` gives, as JSON
MAX_WRITTEN = 64_000_000  # characters of results or policies that one action writes


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """Describes an action on an execution, on one of its steps, or on one item of a fan-out."""

    action: str
    step: str | None = None
    item: int | None = None
    reason: str | None = None
    result: Any = None
    """The result that `complete` gives."""
    has_result: bool = False
    policy: Mapping[str, Any] | None = None
    """The fields of the retry policy that `reschedule` changes."""
    items: frozenset[int] = frozenset()
    """Several items of the step, as dead letters name them. The action is for all of them or for none."""

    @property
    def numbers(self) -> frozenset[int]:
        """Returns the numbers of the items that it names. Empty if it names none."""
        return self.items if self.item is None else frozenset((self.item,))


def check_action(asked: ActionRequest) -> None:
    """Refuses an action that no execution could carry out."""
    if asked.action not in ACTIONS:
        raise UsageError(f"there is no action {shorten(repr(asked.action))}{suggest(asked.action, ACTIONS)}")
    if asked.action in NEED_REASON and not (asked.reason or "").strip():
        raise UsageError(
            f"{asked.action} changes a verdict: it needs a reason, which is recorded",
            remedy="give a `reason`",
        )
    if asked.action in EXECUTION_ACTIONS and (asked.step is not None or asked.item is not None):
        raise UsageError(
            f"{asked.action} is for whole executions, not for a step of one",
            remedy="leave `step` and `item` out",
        )
    if asked.item is not None and asked.step is None:
        raise UsageError("`item` is the number of an item of a fan-out: name its `step` as well")
    if asked.has_result != (asked.action == "complete"):
        words = (
            "complete needs the `result` that the step is to have"
            if asked.action == "complete"
            else "`result` is for complete"
        )
        raise UsageError(words, remedy="for a step without a result there is resolve")
    if (asked.policy is not None) != (asked.action == "reschedule"):
        words = "`policy` is for reschedule" if asked.policy is not None else "reschedule needs a `policy`"
        raise UsageError(words, remedy='give the fields that change, such as {"initial_delay": "10s"}')
    if asked.policy is not None and len(encode(asked.policy)) > MAX_POLICY:
        raise UsageError(
            f"the `policy` is longer than {MAX_POLICY:,} characters as JSON",
            remedy="give only the fields that change",
        )


def check_written(asked: ActionRequest, items: int) -> None:
    """Refuses an action that would write a large result or policy for many items."""
    if items < 2 or (not asked.has_result and asked.policy is None):
        return
    size = len(encode(asked.result if asked.has_result else asked.policy))
    if size * items > MAX_WRITTEN:
        raise UsageError(
            f"{asked.action} would write {size:,} characters for each of {items:,} items, "
            f"and {MAX_WRITTEN:,} in all are allowed",
            remedy="act on fewer items at a time, each by its `item`, or give a smaller value",
        )
