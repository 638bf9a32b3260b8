"""Defines the task of `prices.yaml`."""

from __future__ import annotations

from tenax import Fatal, task


@task
def add_up(prices: list[int]) -> dict[str, int]:
    if any(price < 0 for price in prices):
        raise Fatal("a price below zero: the service sent wrong data, and would send it again")
    return {"total": sum(prices), "count": len(prices)}
