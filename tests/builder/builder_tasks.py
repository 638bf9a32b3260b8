"""Tasks that the workflows of these tests call."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from tenax import Fatal, RetryPolicy, Rule, TaskContext, task


@task
def charge(order: dict[str, Any], ctx: TaskContext, *, currency: str = "CHF") -> dict[str, Any]:
    return {"receipt": f"R-{order['id']}", "total": order["amount"], "currency": currency}


@task(name="ship-parcel")
async def ship(receipt: str, weight: float = 1.0) -> dict[str, Any]:
    if receipt == "R-13":
        raise Fatal("no such address")
    return {"parcel": f"P-{receipt}", "weight": weight}


def refund(receipt: str) -> str:
    return f"refunded {receipt}"


def limited(order: int, timeout: int) -> int:
    return order + timeout


def add(left: int, right: int, /) -> int:
    return left + right


def total(*numbers: int) -> int:
    return sum(numbers)


def collect(**values: Any) -> dict[str, Any]:
    return values


@dataclass
class Address:
    street: str
    number: int = 1


@task(
    retry=RetryPolicy(max_attempts=4, rules=[Rule(on=["http_429"], initial_delay="30s")]),
    timeout=timedelta(minutes=2),
    queue="parcels",
    labels={"zone": "eu"},
    concurrency=3,
)
def deliver(address: Address, on: date | None = None) -> str:
    return f"{address.street} {address.number} {on}"


@task(concurrency={"limit": 1, "key": "{{ input.account }}"})
def book(account: str) -> str:
    return account
