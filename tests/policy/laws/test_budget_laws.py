"""The laws on budgets: rows that say another usage than the events, and sums that do not add up, are found."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tenax.policy.laws.budgets import UsageFold, budget_row, budget_sums
from tenax.policy.laws.facts import BudgetFacts, LoggedEvent

NOW = datetime(2030, 1, 1, tzinfo=UTC)
ROW = BudgetFacts(
    execution_id=3, path=[1, 3], own_usd=0.75, own_tokens=9, spent_usd=1.0, spent_tokens=12,
    children_usd=0.25, children_tokens=3, parent_path=[1],
)  # fmt: skip


def decided(before: float, after: float, tokens: int, **more: Any) -> LoggedEvent:
    ledgers = {
        "before": {"cost": before, "tree": True},
        "after": {"cost": after, "tokens": tokens, "tree": True},
    }
    return LoggedEvent(1, "step_retry", NOW, "a", data={"decision": ledgers | more})


def used(*events: LoggedEvent) -> UsageFold:
    fold = UsageFold()
    for event in events:
        fold.see(event)
    return fold


CHARGED = LoggedEvent(
    2, "attempt_charged", NOW, "a", data={"cost_usd": 0.25, "tokens": 4, "reason": "cancelled"}
)


def test_decisions_and_charges_add_up() -> None:
    fold = used(decided(0.0, 0.5, 5), CHARGED)
    assert (fold.cost_usd, fold.tokens) == (0.75, 9)
    assert list(budget_row(fold, ROW)) == []
    assert list(budget_sums(ROW)) == []


def test_a_decision_outside_a_tree_is_not_charged() -> None:
    event = LoggedEvent(1, "step_retry", NOW, "a", data={"decision": {"before": {}, "after": {"cost": 1.0}}})
    assert list(budget_row(used(event), None)) == []


@pytest.mark.parametrize(
    ("change", "said"), [({"own_usd": 0.5}, "own_usd"), ({"own_tokens": 8}, "own_tokens")]
)
def test_a_row_that_the_events_contradict_is_found(change: dict[str, Any], said: str) -> None:
    [message] = budget_row(used(decided(0.0, 0.5, 5), CHARGED), replace(ROW, **change))
    assert said in message


def test_a_missing_row_is_found() -> None:
    assert "the row is missing" in next(budget_row(used(CHARGED), None))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"spent_usd": 1.25}, "spent_usd"),
        ({"spent_tokens": 13}, "spent_tokens"),
        ({"parent_path": [2]}, "path"),
        ({"orphans": 1}, "reserved"),
    ],
)
def test_sums_that_do_not_add_up_are_found(change: dict[str, Any], said: str) -> None:
    [message] = budget_sums(replace(ROW, **change))
    assert said in message
