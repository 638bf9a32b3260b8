"""Tasks that the workflows of these tests call."""

from __future__ import annotations

from typing import Any

from tenax import Fatal, TaskContext, task


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
