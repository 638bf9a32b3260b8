"""Has the tasks that the tests of the plugin run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, timedelta

from tenax import RetryPolicy, task

CHARGED: list[int] = []


def charge(order: dict) -> dict:
    CHARGED.append(order["id"])
    return {"receipt": f"R-{order['id']}"}


async def ship(receipt: str) -> str:
    return f"parcel for {receipt}"


def refuse(order: dict) -> None:
    raise ValueError(f"order {order['id']} has no amount")


@dataclass(frozen=True)
class Order:
    id: int
    due: date


@task(retry=RetryPolicy(max_attempts=3, initial_delay="2h", max_delay="1d"))
async def invoice(order: Order) -> Order:
    return replace(order, due=order.due + timedelta(days=30))
