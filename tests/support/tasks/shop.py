"""Tasks that the tests of the application submit."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from tenax import Retry, RetryPolicy, Rule, context, task


@dataclass(frozen=True)
class Order:
    id: int
    amount: Decimal
    due: date


@dataclass(frozen=True)
class Receipt:
    order: Order
    paid: bool = True


@task(queue="pay", labels={"bank": "yes"})
async def charge(order: Order, *, currency: str = "CHF") -> Receipt:
    """Charges an order."""
    return Receipt(order, paid=currency == "CHF")


@task
def double(amount: int, factor: int = 2) -> int:
    return amount * factor


@task(retry=RetryPolicy(max_attempts=3, rules=[Rule(on="transient", initial_delay="10ms", jitter=0)]))
def stubborn(until: int) -> int:
    attempt = context().attempt
    if attempt < until:
        raise Retry(f"not yet: {attempt}")
    return attempt


@task
async def forever() -> None:
    await asyncio.Event().wait()


@task
def wrong_result(amount: int) -> int:
    return str(amount)  # type: ignore[return-value]


@task
def total(*amounts: Decimal) -> Decimal:
    return sum(amounts, Decimal())
