"""What an attempt used up, as it says so itself: in a result file, or in a callback."""

from __future__ import annotations

from typing import Any

from tenax.model.attempt.outcome import Usage

MAX_COST = 1e15
MAX_TOKENS = 2**63 - 1


def read_usage(stated: Any) -> Usage | None:
    """What does not look like a number is left out: a wrong usage must not cost a finished attempt its result."""
    if not isinstance(stated, dict):
        return None
    cost, tokens = stated.get("cost_usd", stated.get("cost")), stated.get("tokens")
    return Usage(
        cost_usd=bounded_cost(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None,
        tokens=bounded_tokens(tokens) if isinstance(tokens, int) and not isinstance(tokens, bool) else None,
    )


def bounded_cost(cost: float) -> float:
    """In this order a NaN comes to 0."""
    return float(min(max(0, cost), MAX_COST))


def bounded_tokens(tokens: int) -> int:
    return min(max(tokens, 0), MAX_TOKENS)
