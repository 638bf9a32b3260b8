"""Folds the usage that events charge to budgets, and defines the laws on the rows of budgets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tenax.policy.laws.facts import BudgetFacts, LoggedEvent
from tenax.policy.laws.law import law

_PRECISION = 1e-6
"""USD by which two sums of the same amounts may differ."""


@dataclass(slots=True)
class UsageFold:
    """Sums what the attempts of an execution were charged to the budgets of its tree."""

    cost_usd: float = 0.0
    tokens: int = 0

    def see(self, event: LoggedEvent) -> None:
        """Takes in the next event. The decision on an attempt says what it was charged, and is in one event only."""
        if event.type == "attempt_charged":
            self.cost_usd += event.data.get("cost_usd", 0.0)
            self.tokens += event.data.get("tokens", 0)
            return
        before, after = (event.decision or {}).get("before"), (event.decision or {}).get("after")
        if before is not None and after is not None and after.get("tree"):
            self.cost_usd += after.get("cost", 0.0) - before.get("cost", 0.0)
            self.tokens += after.get("tokens", 0) - before.get("tokens", 0)


@law(
    "budget-row",
    "An execution of a tree with a budget has used what the decisions on its attempts have charged, and attempts that ended without a report. Each use is counted once.",
)
def budget_row(used: UsageFold, row: BudgetFacts | None) -> Iterator[str]:
    if row is None:
        if used.cost_usd > _PRECISION or used.tokens:
            yield f"the row is missing; the events charge {used.cost_usd:g} USD and {used.tokens} tokens"
        return
    if abs(row.own_usd - used.cost_usd) > _PRECISION:
        yield f"own_usd is {row.own_usd:g}, the events say {used.cost_usd:g}"
    if row.own_tokens != used.tokens:
        yield f"own_tokens is {row.own_tokens}, the events say {used.tokens}"


@law(
    "budget-sums",
    "What a tree has spent is what its root has used and what the trees of its children have spent. What is reserved is for items that there are.",
)
def budget_sums(row: BudgetFacts) -> Iterator[str]:
    if abs(row.spent_usd - row.own_usd - row.children_usd) > _PRECISION:
        yield f"spent_usd is {row.spent_usd:g}; itself {row.own_usd:g}, its children {row.children_usd:g}"
    if row.spent_tokens != row.own_tokens + row.children_tokens:
        yield f"spent_tokens is {row.spent_tokens}; itself {row.own_tokens}, its children {row.children_tokens}"
    if row.path != [*(row.parent_path or []), row.execution_id]:
        yield f"path is {row.path}, that of its parent {row.parent_path}"
    if row.orphans:
        yield f"something is reserved for {row.orphans} items that do not exist"
