"""Finds out whether budgets can pay another attempt: that of the item, and those of the trees that it belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from tenax.model.decision import Ledger, TreeBudget
from tenax.model.policy import Policy

PLACES = 9
"""Decimal places of an amount in USD. What is smaller is an error of floating point."""
Answer = Literal["pay", "wait", "never"]


class Price(NamedTuple):
    """Holds what is reserved for an attempt."""

    cost_usd: float
    tokens: int


class Payment(NamedTuple):
    """Says whether one limit can pay another attempt."""

    answer: Answer
    saw: dict[str, Any]
    words: str


def price_of(policy: Policy, ledger: Ledger, tree: TreeBudget | None = None) -> Price:
    """Returns the price of the next attempt: `attempt_cost`, else the highest cost seen, of the item, or else of its step in
    the tree, else nothing."""
    cost, tokens = policy.attempt_cost, ledger.highest_tokens
    if cost is None:
        cost = ledger.highest_cost
    if tree is not None:
        cost = tree.highest_usd if cost is None else cost
        tokens = tree.highest_tokens if tokens is None else tokens
    return Price(cost or 0.0, tokens or 0)


def payments(
    policy: Policy, before: Ledger, after: Ledger, trees: tuple[TreeBudget, ...]
) -> Iterator[Payment]:
    """Yields the answer of each limit. `before` and `after` are the ledgers around the attempt that is decided on."""
    if after.budget is not None:
        left = _left(after.budget, after.cost)
        saw = {
            "budget": after.budget,
            "cost": after.cost,
            "left": left,
            "attempt_cost": policy.attempt_cost,
        }
        words = f"{after.cost:g} of {after.budget:g} USD spent"
        yield Payment(_never_or_pay(left, policy.attempt_cost), saw, words)
    if after.budget_tokens is not None:
        left = after.budget_tokens - after.tokens
        saw = {"budget_tokens": after.budget_tokens, "tokens": after.tokens, "left_tokens": left}
        words = f"{after.tokens} of {after.budget_tokens} tokens spent"
        yield Payment(_never_or_pay(left, None), saw, words)
    for tree in trees:
        price = price_of(policy, after, tree)
        if tree.cost_usd is not None:
            yield _cost_of_tree(policy, tree, after.cost - before.cost, price.cost_usd)
        if tree.tokens is not None:
            yield _tokens_of_tree(tree, after.tokens - before.tokens, price.tokens)


def _cost_of_tree(policy: Policy, tree: TreeBudget, charged: float, price: float) -> Payment:
    assert tree.cost_usd is not None
    spent = round(tree.spent_usd + charged, PLACES)
    left = _left(tree.cost_usd, spent)
    free = _left(left, tree.reserved_usd)
    saw = {
        "tree": tree.execution_id,
        "budget": tree.cost_usd,
        "spent": spent,
        "reserved": tree.reserved_usd,
        "left": left,
        "price": price,
    }
    answer = _never_or_pay(left, policy.attempt_cost)
    if answer == "pay" and tree.in_flight and (free <= 0 or free < price):
        answer = "wait"
    words = f"{spent:g} of {tree.cost_usd:g} USD spent by the tree of execution {tree.execution_id}"
    return Payment(answer, saw, words + _reserved_words(f"{tree.reserved_usd:g}", answer))


def _tokens_of_tree(tree: TreeBudget, charged: int, price: int) -> Payment:
    assert tree.tokens is not None
    spent = tree.spent_tokens + charged
    left = tree.tokens - spent
    free = left - tree.reserved_tokens
    saw = {
        "tree": tree.execution_id,
        "budget_tokens": tree.tokens,
        "spent_tokens": spent,
        "reserved_tokens": tree.reserved_tokens,
        "left_tokens": left,
        "price_tokens": price,
    }
    answer = _never_or_pay(left, None)
    if answer == "pay" and tree.in_flight and (free <= 0 or free < price):
        answer = "wait"
    words = f"{spent} of {tree.tokens} tokens spent by the tree of execution {tree.execution_id}"
    return Payment(answer, saw, words + _reserved_words(str(tree.reserved_tokens), answer))


def _reserved_words(amount: str, answer: Answer) -> str:
    return f", {amount} reserved for attempts in flight" if answer == "wait" else ""


def _never_or_pay(left: float, price: float | None) -> Answer:
    return "never" if left <= 0 or (price is not None and left < round(price, PLACES)) else "pay"


def _left(limit: float, used: float) -> float:
    return round(limit - used, PLACES)


def is_over(ledger: Ledger) -> bool:
    """Returns whether the attempts of the item have used more than its own budget."""
    over_cost = ledger.budget is not None and _left(ledger.budget, ledger.cost) < 0
    return over_cost or (ledger.budget_tokens is not None and ledger.tokens > ledger.budget_tokens)
