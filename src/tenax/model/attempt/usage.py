"""Reads the usage that an attempt reports in a result file or a callback."""

from __future__ import annotations

from typing import Any

from tenax.model.attempt.outcome import Usage

MAX_COST = 1e15
MAX_TOKENS = 2**63 - 1


def read_usage(stated: Any) -> Usage | None:
    """Reads the usage. Ignores values that are not numbers, since a wrong usage must not fail a finished attempt."""
    if not isinstance(stated, dict):
        return None
    cost, tokens = stated.get("cost_usd", stated.get("cost")), stated.get("tokens")
    return Usage(
        cost_usd=bounded_cost(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None,
        tokens=bounded_tokens(tokens) if isinstance(tokens, int) and not isinstance(tokens, bool) else None,
    )


def bounded_cost(cost: float) -> float:
    """Returns a cost from 0 to `MAX_COST`. The order of `min` and `max` turns a NaN into 0."""
    return float(min(max(0, cost), MAX_COST))


def bounded_tokens(tokens: int) -> int:
    return min(max(tokens, 0), MAX_TOKENS)
